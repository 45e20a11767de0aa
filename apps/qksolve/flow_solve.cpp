// qksolve flow solve: the reduced gradient flow of the query-key and output-value circuits.
#include <algorithm>
#include <cmath>
#include <memory>
#include <ostream>

#include "cli/usage.hpp"
#include "commands.hpp"
#include "flow_arguments.hpp"
#include "qksolve/flow/theory/growth.hpp"

namespace qksolve::app {

namespace {

using flow::Growth;
using flow::Point;
using results::Json;
using results::put;

Json list_or_nothing(const std::vector<double>& values) { return values.empty() ? Json() : Json(values); }

struct Arguments : FlowArguments {
  double t_max = 1e12;
  std::vector<double> times, at_loss;
  std::string method = "closed-form";
  double tolerance = 1e-10;

  void declare(Options& options) {
    declare_model(options);
    options.real("t-max", t_max, {0.0, 1e300, true, false},
                 "The run ends here; given --times alone, at the last of them");
    options.text(
        "times", kListOrGrid, "",
        "Times of the records, each in [0, t-max] (default 200 of them, log-spaced from 1 to t-max; none if "
        "--at-loss is given)",
        [this](const std::string& text) {
          times = parse_grid("--times", text, {0.0, 1e300});
          std::sort(times.begin(), times.end());
        },
        [this] { return list_or_nothing(times); });
    options.text(
        "at-loss", kListOrGrid, "",
        "Losses, each > 0: the state where the loss first comes down to each of them",
        [this](const std::string& text) { at_loss = parse_grid("--at-loss", text, kPositive); },
        [this] { return list_or_nothing(at_loss); });
    options.choice("method", method, {"ode", "closed-form"},
                   "Adaptive Runge-Kutta in ln(1+t), or the invariant and one quadrature");
    options.real("tolerance", tolerance, {1e-11, 0.01},
                 "Relative error allowed on every printed quantity, and drift of the invariant");
    run.declare_presentation(options);
  }

  void finish(const Options& options) {
    FlowArguments::finish(options);
    if (!times.empty()) {
      const double last = times.back();
      if (!options.given("t-max") && at_loss.empty() && last > 0) t_max = last;
      if (last > t_max)
        throw UsageError("--times: '" + to_text(last) + "' is not allowed, expected at most --t-max " +
                         to_text(t_max));
    }
    if (times.empty() && at_loss.empty() && !(t_max > 1))
      throw UsageError("--t-max: '" + to_text(t_max) + "' is not allowed without --times, expected > 1");
  }

  flow::Route route() const { return method == "ode" ? flow::integrate : flow::closed_form; }
};

// Says of every point that failed by itself whether the closed form reaches it.
void name_the_way_out(flow::Trajectory& trajectory, const flow::Model& model, const flow::Request& request) {
  const auto fails = [](const Point& x) { return x.status != flow::Status::converged; };
  if (std::none_of(trajectory.at_times.begin(), trajectory.at_times.end(), fails) &&
      std::none_of(trajectory.at_losses.begin(), trajectory.at_losses.end(), fails))
    return;
  const flow::Trajectory closed = flow::closed_form(model, request);
  const auto compare = [&](std::vector<Point>& points, const std::vector<Point>& solved) {
    for (std::size_t i = 0; i < points.size(); ++i)
      if (fails(points[i]) && !fails(solved[i])) points[i].reason += "; --method closed-form solves it";
  };
  compare(trajectory.at_times, closed.at_times);
  compare(trajectory.at_losses, closed.at_losses);
}

constexpr int kDefaultTimes = 200;

std::vector<double> default_times(double t_max) {
  std::vector<double> times;
  for (int i = 0; i + 1 < kDefaultTimes; ++i)
    times.push_back(std::pow(t_max, static_cast<double>(i) / (kDefaultTimes - 1)));
  times.push_back(t_max);
  return times;
}

struct Quantity {
  const char* name;
  double Point::*value;
  double Point::*error;
};
constexpr Quantity kQuantities[] = {
    {"t", &Point::t, &Point::t_error},
    {"u", &Point::u, &Point::u_error},
    {"beta", &Point::beta, &Point::beta_error},
    {"p", &Point::attention, &Point::attention_error},
    {"one_minus_p", &Point::attention_missing, &Point::attention_missing_error},
    {"margin", &Point::margin, &Point::margin_error},
    {"loss", &Point::loss, &Point::loss_error}};

Json make_record(const Point& x, const std::string& parameterization, double ratio) {
  Json record;
  record["parameterization"] = parameterization;
  record["ratio"] = ratio;
  put(record, "at_loss", x.at_loss);
  record["status"] = flow::status_name(x.status);
  if (x.status != flow::Status::converged) record["reason"] = x.reason;
  for (const Quantity& q : kQuantities) put(record, q.name, x.*q.value);
  for (const Quantity& q : kQuantities) put(record, q.name + std::string("_error"), x.*q.error);
  put(record, "invariant_drift", x.drift);
  return record;
}

Json make_growth(const Growth& g, const std::string& parameterization, double ratio) {
  Json json;
  json["parameterization"] = parameterization;
  json["ratio"] = ratio;
  put(json, "rate_ratio", g.rate_ratio);
  put(json, "start_attention", g.start_attention);
  if (!g.regime.empty()) json["regime"] = g.regime;
  put(json, "margin_1_time", g.margin_time);
  put(json, "attention_half_time", g.saturation_time);
  put(json, "beta_risen_by_1_time", g.beta_time);
  put(json, "unsaturated_u_slope", g.u_slope);
  put(json, "unsaturated_u_slope_predicted", g.u_slope_predicted);
  put(json, "unsaturated_beta_constant", g.beta_constant);
  put(json, "unsaturated_beta_constant_predicted", g.beta_constant_predicted);
  put(json, "saturated_margin_slope", g.margin_slope);
  if (g.margin_slope) json["saturated_margin_slope_predicted"] = 1.0;
  put(json, "saturated_one_minus_p", g.attention_missing);
  put(json, "saturated_one_minus_p_predicted", g.attention_missing_predicted);
  put(json, "saturated_beta", g.beta);
  put(json, "saturated_beta_predicted", g.beta_predicted);
  if (g.log_squared_window) json["log_squared_window"] = *g.log_squared_window;
  put(json, "log_squared_window_log_end_predicted", g.window_log_end_predicted);
  Json local = Json::array();
  for (const flow::LocalExponent& x : g.local) {
    Json row;
    put(row, "t", x.t);
    put(row, "u_per_log_t", x.u_per_log_t);
    put(row, "beta_per_log_t_squared", x.beta_per_log_t_squared);
    local.push_back(row);
  }
  json["local_exponents"] = local;
  return json;
}

std::string ratio_of(const Json& json, const std::string& found, const std::string& predicted) {
  if (!json.contains(found)) return "-";
  return short_number(json[found].get<double>() / json[predicted].get<double>());
}

// All records if they are few, else the last of every run.
void print_tables(std::ostream& err, const std::vector<Json>& records, const Json& growth) {
  const bool all = records.size() <= 40;
  Table table({"parameterization", "ratio", "at_loss", "t", "u", "beta", "p", "loss", "status"});
  for (std::size_t i = 0; i < records.size(); ++i) {
    const Json& r = records[i];
    const bool last = i + 1 == records.size() || records[i + 1]["ratio"] != r["ratio"] ||
                      records[i + 1]["parameterization"] != r["parameterization"];
    if (!all && !last) continue;
    auto number = [&](const std::string& key) { return r.contains(key) ? short_number(r[key]) : "-"; };
    std::string status = r["status"];
    if (r.contains("reason")) status += ": " + r["reason"].get<std::string>();
    table.add({r["parameterization"], number("ratio"), number("at_loss"), number("t"), number("u"),
               number("beta"), number("p"), number("loss"), status});
  }
  table.print(err);
  if (growth.empty()) return;
  Table laws(
      {"growth", "ratio", "regime", "t(margin=1)", "t(p=1/2)", "beta/unsaturated law", "1-p/saturated law"});
  for (const Json& g : growth) {
    auto number = [&](const std::string& key) { return g.contains(key) ? short_number(g[key]) : "-"; };
    laws.add({g["parameterization"], number("ratio"), g.value("regime", "-"), number("margin_1_time"),
              number("attention_half_time"),
              ratio_of(g, "unsaturated_beta_constant", "unsaturated_beta_constant_predicted"),
              ratio_of(g, "saturated_one_minus_p", "saturated_one_minus_p_predicted")});
  }
  laws.print(err);
}

int run(const Arguments& arguments, const Options& options, Context& context) {
  results::Output output = arguments.run.open_output(context);
  results::Result result = new_result(options, arguments.run, context);

  flow::Request request;
  request.times = arguments.times;
  request.losses = arguments.at_loss;
  request.end = arguments.t_max;
  if (request.times.empty() && request.losses.empty()) request.times = default_times(arguments.t_max);
  request.tolerance = arguments.tolerance;
  request.interrupted = interrupted;

  bool all_converged = true;
  Json growth = Json::array();
  Progress progress(context, arguments.run, arguments.parameterizations.size() * arguments.ratio.size());
  for (const flow::Parameterization& parameterization : arguments.parameterizations) {
    const std::string name = parameterization.name();
    for (const double ratio : arguments.ratio) {
      const bool done = until_interrupt([&] {
        const flow::Model model = arguments.model(parameterization, ratio);
        flow::Trajectory trajectory = arguments.route()(model, request);
        if (arguments.method == "ode") name_the_way_out(trajectory, model, request);
        Growth laws;
        if (request.end > 1)
          laws = flow::growth_laws(model, request.end, request.tolerance, arguments.route(), interrupted);
        for (const auto* points : {&trajectory.at_times, &trajectory.at_losses})
          for (const Point& point : *points) {
            result.records.push_back(make_record(point, name, ratio));
            all_converged = all_converged && point.status == flow::Status::converged;
          }
        if (request.end > 1) growth.push_back(make_growth(laws, name, ratio));
        progress.done("flow solve: " + name + ", ratio " + short_number(ratio));
      });
      if (!done) result.missing.push_back(name + ", ratio " + to_text(ratio));
    }
  }
  result.summary["growth"] = growth;
  write_result(output, result, context);
  if (!arguments.run.quiet && !result.records.empty()) print_tables(context.err, result.records, growth);
  return exit_code(all_converged);
}

}  // namespace

Command flow_solve() {
  return make_command<Arguments>(
      "flow", "solve", "The flow reduced to two scalars: trajectories, equal-loss states, growth laws",
      "qksolve flow solve --parameterization all --ratio 0.01,1,100 --t-max 1e30 -o growth.json", run);
}

}  // namespace qksolve::app
