// Values of JSON files that must be of one kind, for the readers.
#pragma once

#include <string>
#include <string_view>

#include "qksolve/data/text.hpp"
#include "qksolve/results/provenance.hpp"

namespace qksolve::training {

using results::Json;

// Throws TextError, with the place, where it is no JSON.
inline Json parse_json(std::string_view text, const std::string& place) {
  try {
    return Json::parse(text);
  } catch (const Json::exception& error) {
    throw TextError(place + (place.empty() ? "" : ": ") + "not valid JSON (" + error.what() + ")");
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
