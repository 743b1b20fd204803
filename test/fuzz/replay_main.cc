// SPDX-License-Identifier: BSD-3-Clause
//
// Runs a fuzz target over the files of the directories it is given, in place of libFuzzer: the
// corpus becomes an ordinary test. Single thread. Fails when a file cannot be read or there is none
// (a corpus that was not found has tested nothing); a fault of the target ends the process.
//
// To fuzz, leave this file out and let clang put its own main in:
//
//   clang++ -std=c++20 -g -O1 -fsanitize=fuzzer,address,undefined -I. test/fuzz/yaml_fuzz.cc
//     lib/text/yaml.cc lib/base/file.cc lib/base/status.cc
//     $(pkg-config --cflags --libs yaml-cpp absl_statusor absl_str_format) -o yaml_fuzz
//   ./yaml_fuzz -max_total_time=60 NEW_CORPUS test/data/fuzz/yaml
//
// An input that found a fault joins test/data/fuzz/<target>/, named after what it showed.

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <string>
#include <system_error>

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size);

int main(int argc, char** argv) {
  size_t files = 0;
  for (int i = 1; i < argc; ++i) {
    std::error_code error;
    for (std::filesystem::directory_iterator it(argv[i], error), end; !error && it != end;
         it.increment(error)) {
      std::ifstream in(it->path(), std::ios::binary);
      const std::string input(std::istreambuf_iterator<char>(in), {});
      if (!in) {
        std::cerr << it->path() << ": cannot be read\n";
        return 1;
      }
      // Said before the run, so that a crash has its input named.
      std::cout << it->path().filename().string() << std::endl;
      LLVMFuzzerTestOneInput(reinterpret_cast<const uint8_t*>(input.data()), input.size());
      ++files;
    }
    if (error) {
      std::cerr << argv[i] << ": " << error.message() << "\n";
      return 1;
    }
  }
  if (files == 0) {
    std::cerr << "no input was replayed; accepted: directories with files\n";
    return 1;
  }
  std::cout << files << " inputs replayed\n";
  return 0;
}
