#include "qksolve/results/fields.hpp"

namespace qksolve::results {

namespace {

std::string shown(const Json& row, const std::string& key) {
  if (!row.is_object()) return "the row is not an object, expected one with '" + key + "', ";
  if (!row.contains(key)) return "key '" + key + "' is missing, expected ";
  const Json& value = row.at(key);
  const std::string text = value.is_array()    ? "a list"
                           : value.is_object() ? "an object"
                                               : value.dump(-1, ' ', false, Json::error_handler_t::replace);
  return "key '" + key + "' is " + text + ", expected ";
}

const Json* field(const Json& row, const std::string& key) {
  return row.is_object() && row.contains(key) ? &row.at(key) : nullptr;
}

}  // namespace

FieldError::FieldError(const Json& row, const std::string& key, const std::string& expected)
    : ContentError(shown(row, key) + expected), row_(&row) {}

double number_field(const Json& row, const std::string& key) {
  const Json* value = field(row, key);
  if (value == nullptr || !value->is_number()) throw FieldError(row, key, "a number");
  return value->get<double>();
}

std::string word_field(const Json& row, const std::string& key) {
  const Json* value = field(row, key);
  if (value == nullptr || !value->is_string()) throw FieldError(row, key, "a word");
  return value->get<std::string>();
}

std::string word_field(const Json& row, const std::string& key, const std::string& otherwise) {
  return row.is_object() && !row.contains(key) ? otherwise : word_field(row, key);
}

bool flag_field(const Json& row, const std::string& key, bool otherwise) {
  const Json* value = field(row, key);
  if (value == nullptr) return otherwise;
  if (!value->is_boolean()) throw FieldError(row, key, "true or false");
  return value->get<bool>();
}

std::string place_of_row(const Json& result, const Json* row) {
  const auto place = [&](const std::string& name, const Json& list) -> std::string {
    if (!list.is_array()) return "";
    for (std::size_t i = 0; i < list.size(); ++i)
      if (&list[i] == row) return name + ", row " + std::to_string(i + 1) + ": ";
    return "";
  };
  if (const Json* records = field(result, "records"))
    if (std::string found = place("records", *records); !found.empty()) return found;
  if (const Json* summary = field(result, "summary"); summary == row) {
    return "summary: ";
  } else if (summary != nullptr && summary->is_object()) {
    for (const auto& [name, list] : summary->items())
      if (std::string found = place("summary." + name, list); !found.empty()) return found;
  }
  return "";
}

}  // namespace qksolve::results
