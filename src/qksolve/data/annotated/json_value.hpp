// Values of JSON files that must be of one kind, for the readers.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "qksolve/data/text.hpp"
#include "qksolve/results/json_text.hpp"

namespace qksolve::training {

using results::Json;

// Throws TextError, with the line, as results::parse_json.
inline Json parse_json(std::string_view text, std::int64_t first_line = 1) {
  try {
    return results::parse_json("", std::string(text), {}, static_cast<std::size_t>(first_line));
  } catch (const results::ContentError& error) {
    throw TextError(std::string(error.what()).substr(2));  // without ": " that follows the name
  }
}

// object[key], of which `is` must hold. Throws TextError with the place.
inline const Json& member(const Json& object, const char* key, bool (Json::*is)() const noexcept,
                          const char* kind, const std::string& place) {
  if (!object.is_object() || !object.contains(key) || !(object.at(key).*is)())
    throw TextError(place + ": expected the key '" + key + "' with " + kind);
  return object.at(key);
}
inline const Json& list_of(const Json& object, const char* key, const std::string& place) {
  return member(object, key, &Json::is_array, "a list", place);
}
inline const std::string& text_of(const Json& object, const char* key, const std::string& place) {
  return member(object, key, &Json::is_string, "a text", place).get_ref<const std::string&>();
}

}  // namespace qksolve::training
