// Long jobs of every solver, told to stop while they are at work: they end, with 130, and leave nothing half
// written. The program is a process of its own.
#include <doctest/doctest.h>

#include <filesystem>

#include "cli/run.hpp"

using namespace qksolve::test;

namespace {

// None of them ends by itself within a minute.
const std::vector<std::string> kLongJobs{
    "phase solve --alpha 0.5:3:5000 --tolerance 1e-7",
    "phase solve --quadrature qmc --alpha 0.8 --omega 0 --branch positional --tolerance 1e-4",
    "phase solve --rank 2 --tolerance 1e-5",
    "phase solve --rank 3 --tokens 4 --tolerance 1e-3",
    "phase critical --omega 0:0.4:400",
    "phase critical --rank 2 --between mixed,positional --which alpha_c",
    "phase sweep --alpha 0.05:2:100 --omega 0:0.5:100",
    "phase simulate --d 2000 --instances 1000 --optimizer gd",
    "phase simulate --d 2000 --instances 1000 --optimizer adam --tokens 3",
    "phase simulate --d 2000 --instances 1000 --optimizer lbfgs --response",
    "phase simulate --d 2000 --instances 1000 --optimizer amp --trajectory",
    "phase simulate --d 2 --test-samples 100000000",
    "flow solve --parameterization all --ratio 0.001:1000:20000 --t-max 1e30",
    "flow simulate --d 3000 --init random --optimizer adamw --steps 1000000",
    "flow simulate --d 40 --optimizer rk4 --steps 1000000000 --times 1000000000",
    "flow simulate --preset fig2 --batch 100000",
    "flow simulate --preset fig3 --steps 250 --test-sequences 10000000",
    "coupled solve --context 8192 --draws 100",
    "coupled solve --context none --head-dimension 300 --draws 1000",
    "coupled solve --context none --head-dimension 700 --integrator euler --coupling linear --states 1",
    "coupled solve --context 4096 --hidden 65536 --head-dimension 256",
#ifdef QKSOLVE_TRAINING
    "coupled train --task mqar --seeds 8",
#endif
};

}  // namespace

TEST_CASE("every solver ends when it is told to, with 130 and without traces" * doctest::test_suite("slow")) {
  const std::filesystem::path folder = "test_signals";
  for (const std::string& job : kLongJobs)
    for (const std::string signal : {"INT", "TERM"}) {
      CAPTURE(job);
      CAPTURE(signal);
      std::filesystem::remove_all(folder);
      std::filesystem::create_directory(folder);
      const std::string out = folder / "out.json", err = folder / "err";
      // LibTorch takes its time to load, before the program hears anything. Killed, which would show as 137,
      // only if it goes on for ten seconds.
      const std::string begun = job.starts_with("coupled train") ? "5" : "1";
      CHECK(shell("timeout --preserve-status -s " + signal + " -k 10 " + begun + " " + QKSOLVE_BINARY + " " +
                  job + " --quiet -o " + out + " 2>" + err) == 130);
      std::ifstream said(err);
      for (std::string line; std::getline(said, line);) CHECK(line.find("interrupted") != std::string::npos);
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder))
        CHECK(entry.path().string().find(".tmp") == std::string::npos);
      if (!std::filesystem::exists(out)) continue;
      std::ifstream file(out);
      const nlohmann::json result = nlohmann::json::parse(file);
      for (const auto& record : result.at("records"))
        CHECK(record.value("reason", "").find("interrupted") == std::string::npos);
    }
  std::filesystem::remove_all(folder);
}
