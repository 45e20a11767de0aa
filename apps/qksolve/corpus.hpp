// The documents of a text that is named on the command line.
#pragma once

#include <string>
#include <vector>

namespace qksolve::app {

// A UTF-8 file, without its byte order mark. Throws results::FileError, or results::ContentError where it is
// no such text.
std::string read_text(const std::string& path);

// Of a folder: every file in it and below, in order of their names, but those whose name begins with a dot.
// Of a file: its parts between blank lines. Without a mark of the byte order. Throws FileError if something
// cannot be read, ContentError for a file that is not UTF-8 text (it holds a zero byte, or is cut or
// garbled).
std::vector<std::string> read_documents(const std::string& path);

}  // namespace qksolve::app
