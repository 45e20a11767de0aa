// What rows of a file hold, read with words of our own for what is not there.
#pragma once

#include <string>
#include <vector>

#include "qksolve/results/result.hpp"

namespace qksolve::results {

// A field that is missing or of another kind: `what` names the key, its value and what is expected. Whoever
// knows the file adds the place of the row.
class FieldError : public ContentError {
 public:
  FieldError(const Json& row, const std::string& key, const std::string& expected);
  const Json* row() const { return row_; }  // only its address counts

 private:
  const Json* row_;
};

// row[key]. Throws FieldError if it is missing or of another kind.
double number_field(const Json& row, const std::string& key);
std::string word_field(const Json& row, const std::string& key);
// The same, or what stands for it where it is missing.
bool flag_field(const Json& row, const std::string& key, bool otherwise);
std::string word_field(const Json& row, const std::string& key, const std::string& otherwise);

// "records, row 3: " if `row` is the third of result["records"], or of a list of the summary; else nothing.
std::string place_of_row(const Json& result, const Json* row);

}  // namespace qksolve::results
