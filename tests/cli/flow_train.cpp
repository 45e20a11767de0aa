// flow train: records, equal bytes, resuming, export, figures, and input that is refused.
#include <doctest/doctest.h>

#include <cmath>
#include <filesystem>

#include "run.hpp"

using namespace qksolve::test;
using nlohmann::ordered_json;

namespace {

// Sentences of a filler, a word that tells the class and another filler; every fifth is validation.
std::string small_text(int examples = 200) {
  std::string lines;
  for (int i = 0; i < examples; ++i) {
    const std::string label = i % 2 == 0 ? "animal" : "plant";
    const std::string word = (i % 2 == 0 ? "cat" : "oak") + std::to_string(i % 6 / 2);
    lines += R"({"tokens": ["the", ")" + word + R"(", ")" + (i % 7 < 3 ? "old" : "new") +
             R"("], "relevant": [0, 1, 0], "label": ")" + label + R"(", "split": ")" +
             (i % 5 == 0 ? "validation" : "train") + "\"}\n";
  }
  return lines;
}

const std::string kTrain =
    "flow train --task annotated --inner-dimension 4 --epochs 3 --batch 8 --quiet --data ";

std::string without_provenance(ordered_json json) {
  json.erase("provenance");
  return json.dump();
}

ordered_json load(const std::string& path) {
  std::ifstream file(path);
  return ordered_json::parse(file);
}

}  // namespace

TEST_CASE("flow train: a record for each parameterization, ratio and seed, at ratio 0 with uniform mass") {
  const TemporaryFile text("text.jsonl", small_text());
  const Run r = run(kTrain + text.path + " --ratio 0,1,10 --seeds 2 --seed 5");
  REQUIRE(r.code == 0);
  const ordered_json json = r.json();
  CHECK(json["schema"] == "qksolve.flow.train/1");
  REQUIRE(json["records"].size() == 24);
  for (const auto& record : json["records"]) {
    CHECK(record["status"] == "converged");
    CHECK(record["steps"] == 60);
    CHECK(record["uniform_mass"].get<double>() == doctest::Approx(1 / 3.0).epsilon(1e-14));
    if (record["ratio"] == 0)
      CHECK(std::abs(record["mass"].get<double>() - record["uniform_mass"].get<double>()) < 1e-15);
    CHECK(record["accuracy"].get<double>() > 0.5);
    for (const char* key :
         {"loss", "entropy", "mass", "sufficiency", "comprehensiveness", "u", "beta", "p"}) {
      CHECK(record.contains(key));
      CHECK(record.contains(std::string(key) + "_error"));
    }
  }
  CHECK(json["records"][1]["seed"] == 6);
  CHECK(json["summary"]["arms"].size() == 12);
  CHECK(json["summary"]["data"]["majority_accuracy"] == 0.5);
  CHECK(json["summary"]["claims"].size() > 10);
  CHECK(json["summary"]["attention"].size() == 12);
}

TEST_CASE("flow train: at ratio 0 the rate of the query-key circuit is 0, whichever rate the ratio changes") {
  const TemporaryFile text("text.jsonl", small_text());
  const auto records = [&](const std::string& by) {
    return run(kTrain + text.path + " --parameterization FAFO --ratio 0,1,4 --ratio-by " + by)
        .json()["records"];
  };
  const auto qk = records("qk"), ov = records("ov"), both = records("both");
  for (int i : {0, 1}) {
    CHECK(qk[i] == ov[i]);
    CHECK(qk[i] == both[i]);
  }
  CHECK(qk[2]["train_loss"] < ov[2]["train_loss"]);
  CHECK(qk[2]["train_loss"] < both[2]["train_loss"]);
  CHECK(both[2]["train_loss"] < ov[2]["train_loss"]);
}

TEST_CASE("flow train: threads, a work file and a rerun from the result give the same bytes") {
  const TemporaryFile text("text.jsonl", small_text()), work("work.jsonl"), out("out.json");
  const std::string line = kTrain + text.path + " --ratio 0.1,1 --seeds 2 --loss-target 0.4 --epochs";
  const std::string command = line.substr(0, line.rfind(" --epochs"));
  // --epochs belongs to runs without a target.
  const Run refused = run(command);
  CHECK(refused.code == 2);
  CHECK(refused.says("--epochs"));
  const std::string fixed = kTrain + text.path + " --ratio 0.1,1 --seeds 2";
  const std::string expected = without_provenance(run(fixed + " --threads 1").json());
  CHECK(without_provenance(run(fixed + " --threads 3").json()) == expected);
  // Half of the runs are in a work file already, and one of them is half-written.
  CHECK(run(kTrain + text.path + " --ratio 0.1 --seeds 2 --resume " + work.path).code == 0);
  std::ofstream(work.path, std::ios::app) << "{\"task\":\"12";
  const Run resumed = run(fixed + " --resume " + work.path + " -o " + out.path);
  CHECK(resumed.code == 0);
  CHECK(without_provenance(load(out.path)) == expected);
  CHECK(without_provenance(run("flow train --quiet --config " + out.path).json()) == expected);
  CHECK_FALSE(std::filesystem::exists(out.path + ".work.jsonl"));
}

TEST_CASE("flow train: a loss target ends every run at that loss, or as step_limit") {
  const TemporaryFile text("text.jsonl", small_text());
  const std::string line =
      "flow train --task annotated --batch 8 --quiet --parameterization CACO,FAFO --ratio 1 "
      "--data " +
      text.path;
  const Run reached = run(line + " --loss-target 0.3");
  CHECK(reached.code == 0);
  const ordered_json reached_json = reached.json();
  for (const auto& record : reached_json["records"]) {
    CHECK(record["train_loss"].get<double>() <= 0.3);
    CHECK(record["train_loss"].get<double>() > 0.25);
  }
  const Run missed = run(line + " --loss-target 1e-9 --max-epochs 2");
  CHECK(missed.code == 3);
  const ordered_json missed_json = missed.json();
  for (const auto& record : missed_json["records"]) {
    CHECK(record["status"] == "step_limit");
    CHECK(record.contains("reason"));
    CHECK(record.contains("accuracy"));
  }
  const Run blown_up = run(line + " --eta-ov 1e200");
  CHECK(blown_up.code == 3);
  CHECK(blown_up.json()["records"][1]["status"] == "non_finite");
  CHECK(blown_up.json()["records"][1].contains("mass"));
}

TEST_CASE("flow train: what is exported comes back as the same study") {
  const std::string brown = std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/";
  const TemporaryFile lines("lines.jsonl");
  std::string tagged;  // ten documents of two sentences
  for (int i = 0; i < 10; ++i) tagged += "The/at dog/nn barks/vbz ./.\nThe/at dogs/nns bark/vb ./.\n\n";
  const TemporaryFile text("tagged.txt", tagged);
  CHECK(run("flow train --data " + text.path + " --export " + lines.path).code == 0);
  const std::string options = " --quiet --ratio 1 --epochs 2 --positions 3";
  const ordered_json a = run("flow train --data " + text.path + options).json(),
                     b = run("flow train --task annotated --data " + lines.path + options).json();
  REQUIRE(a["records"].size() == 4);
  for (std::size_t i = 0; i < 4; ++i)
    for (const char* key : {"loss", "mass", "accuracy", "beta"})
      CHECK(a["records"][i][key] == b["records"][i][key]);
  CHECK(a["summary"]["data"]["vocabulary"] == b["summary"]["data"]["vocabulary"]);
  const Run nowhere = run("flow train --data " + text.path + " --export /nonexistent/x");
  CHECK(nowhere.code == 4);
}

TEST_CASE("flow train: figures of many ratios are curves, of one or two heatmaps") {
  const TemporaryFile text("text.jsonl", small_text()), many("many.json"), one("one.json"),
      figure("figure.svg");
  CHECK(run(kTrain + text.path + " --ratio 0,0.1,1,10 --seeds 2 -o " + many.path).code == 0);
  CHECK(run(kTrain + text.path + " --ratio 1 -o " + one.path).code == 0);
  const auto script = [&](const std::string& result) {
    CHECK(run("plot --data-only " + result + " -o " + figure.path).code == 0);
    const std::string path = figure.path.substr(0, figure.path.size() - 4);
    std::ifstream file(path + ".gp");
    const std::string found{std::istreambuf_iterator<char>(file), {}};
    std::filesystem::remove(path + ".gp");
    std::filesystem::remove(path + ".dat");
    return found;
  };
  const std::string curves = script(many.path), maps = script(one.path);
  CHECK(curves.find("yerrorbars") != std::string::npos);
  CHECK(curves.find("uniform attention") != std::string::npos);
  CHECK(maps.find("boxxyerror") != std::string::npos);
  CHECK(maps.find("with labels") != std::string::npos);
}

TEST_CASE("flow train: bad input is one line that says what is wrong") {
  const std::string references = std::string(QKSOLVE_REFERENCE_DIR) + "/annotated/";
  const TemporaryFile good("text.jsonl", small_text()), empty("empty.jsonl"),
      binary("binary.jsonl", "{\"a\": \xff"),
      single("single.jsonl", R"({"tokens":["a"],"relevant":[1],"label":"x","split":"validation"})");
  struct Case {
    std::string arguments;
    int code;
    std::vector<std::string> says;
  };
  for (const Case& c : std::vector<Case>{
           {"", 2, {"--data", "--task agreement"}},
           {"--data /nonexistent", 4, {"/nonexistent"}},
           {"--task annotated --data " + empty.path, 2, {empty.path, "holds no example"}},
           {"--task annotated --data " + single.path, 2, {"for training"}},
           {"--task annotated --data " + binary.path, 2, {binary.path, "UTF-8"}},
           {"--task annotated --data " + references + "linzen.tsv",
            2,
            {"line 1", "looks like --task linzen"}},
           {"--task linzen --data " + references + "squad.json", 2, {"line 1", "looks like --task squad"}},
           {"--task squad --data " + references + "hatexplain_dataset.json",
            2,
            {"looks like --task hatexplain"}},
           {"--task glosses --data " + good.path, 2, {"line 1", "looks like --task annotated"}},
           {"--task hatexplain --data " + good.path, 2, {"folder"}},
           {"--data " + references + "data.noun", 2, {"looks like --task glosses"}},
           {"--task annotated --ratio -1 --data " + good.path, 2, {"--ratio", "'-1'"}},
           {"--task annotated --batch 0 --data " + good.path, 2, {"--batch", "'0'"}},
           {"--task annotated --input sentence --data " + good.path, 2, {"--input", "annotated"}},
           {"--task annotated --rationale union --data " + good.path, 2, {"--rationale"}},
           {"--task annotated --loss-target 0 --data " + good.path, 2, {"--loss-target", "'0'"}},
           {"--task annotated --max-epochs 3 --data " + good.path, 2, {"--max-epochs"}},
           {"--task annotated --ratio-by ov --ratio 1e-6 --eta-ov 1e305 --data " + good.path, 2, {"--ratio"}},
           {"--task other --data " + good.path, 2, {"--task", "other"}}}) {
    CAPTURE(c.arguments);
    const Run r = run("flow train " + c.arguments);
    CAPTURE(r.err);
    CHECK(r.code == c.code);
    CHECK(r.one_line());
    CHECK(r.out.empty());
    for (const std::string& text : c.says) CHECK(r.says(text));
  }
}
