// Doctest, where Torch's logging has taken the names of its macros.
#pragma once

#undef CHECK
#undef CHECK_EQ
#undef CHECK_NE
#undef CHECK_GT
#undef CHECK_LT
#undef CHECK_GE
#undef CHECK_LE

#include <doctest/doctest.h>
