#include "describe_tuned.h"

#include "error.h"

namespace hconv::runtime {
namespace {

using Json = nlohmann::ordered_json;

const char *name_of(Tuned::How how) {
  return how == Tuned::How::exact ? "exact" : how == Tuned::How::nearest ? "nearest" : "heuristic";
}

bool found(const Tuned &tuned) {
  return tuned.how == Tuned::How::exact || tuned.how == Tuned::How::nearest;
}

} // namespace

Json json_of(const Tuned &tuned) {
  if (tuned.how == Tuned::How::not_asked)
    return Json();
  Json j = {{"how", name_of(tuned.how)}};
  for (const char *name : {"key", "table", "distance", "ms", "date", "runs", "threads"})
    j[name] = Json();
  if (found(tuned)) {
    const TunedEntry &entry = *tuned.match.entry;
    j["key"] = key_of(entry);
    j["table"] = place_of(tuned.match);
    j["distance"] = tuned.match.distance;
    j["ms"] = entry.ms;
    j["date"] = entry.date;
    j["runs"] = entry.runs;
    if (entry.threads)
      j["threads"] = entry.threads;
  }
  j["skipped"] = Json::array();
  for (const TunedSkip &skip : tuned.skipped)
    j["skipped"].push_back({{"key", key_of(*skip.match.entry)},
                            {"table", place_of(skip.match)},
                            {"distance", skip.match.distance},
                            {"variant", skip.match.entry->variant},
                            {"reason", skip.reason}});
  return j;
}

std::string plain_of(const Tuned &tuned) {
  if (tuned.how == Tuned::How::not_asked)
    return "";
  std::string t = "tuned        ";
  if (found(tuned)) {
    const TunedEntry &entry = *tuned.match.entry;
    t += text("%s: %s, %s, %.6g ms in %lld runs on %s", name_of(tuned.how), key_of(entry).c_str(),
              place_of(tuned.match).c_str(), entry.ms, static_cast<long long>(entry.runs), entry.date.c_str());
    if (entry.threads)
      t += text(" with %lld threads", static_cast<long long>(entry.threads));
    if (tuned.how == Tuned::How::nearest)
      t += text("; %.3g doublings away", tuned.match.distance);
    t += "\n";
  } else
    t += text("heuristic: no table has an entry for this device, type, mode and class of kernel within a distance of "
              "%.3g that can serve\n",
              tuned_reach);
  for (const TunedSkip &skip : tuned.skipped)
    t += text("  passed over %s -> %s (%s): %s\n", key_of(*skip.match.entry).c_str(), skip.match.entry->variant.c_str(),
              place_of(skip.match).c_str(), skip.reason.c_str());
  return t;
}

} // namespace hconv::runtime
