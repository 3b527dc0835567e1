#include "pipeline_nest.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

bool ends_with_name(const std::string &name, const std::string &last) {
  return name == last || (name.size() > last.size() && ends_with(name, "." + last));
}

class TakeApart {
public:
  TakeApart(const PipelineRequest &request, const KernelArrays &arrays) : request(request), arrays(arrays) {}

  PipelineNest nest;

  /** The chain of loops from `outer` down to the requested one; false if there is anything else between. */
  bool collect(const For *outer) {
    const For *loop = outer;
    for (;;) {
      if (loop->for_type != ForType::Serial || !is_const_zero(loop->min))
        return false;
      nest.loops.push_back(loop);
      Stmt body = loop->body;
      if (ends_with_name(loop->name, request.loop)) {
        split(body);
        check_extents();
        for (const std::string &array : nest.staged)
          check(!uses_of(nest.compute).written.count(array), "its consumers write " + array);
        return true;
      }
      while (const LetStmt *let = body.as<LetStmt>()) {
        nest.lets.emplace_back(let->name, let->value);
        body = let->body;
      }
      loop = body.as<For>();
      if (!loop)
        return false;
    }
  }

private:
  const PipelineRequest &request;
  const KernelArrays &arrays;

  void check(bool ok, const std::string &why) const { expect_pipeline(ok, request, why); }

  /** Splits the innermost body into staging and computing. */
  void split(const Stmt &s) {
    std::vector<Stmt> list;
    flatten(s, list);
    while (list.size() > 1 && is_barrier(list.back()))
      list.pop_back();
    size_t next = 0;
    for (; next < list.size(); next++) {
      const ProducerConsumer *producer = list[next].as<ProducerConsumer>();
      const bool staging = producer && producer->is_producer && stage(list[next]);
      if (!staging && !is_barrier(list[next]))
        break;
    }
    if (const LetStmt *let = next + 1 == list.size() ? list[next].as<LetStmt>() : nullptr) {
      nest.lets.emplace_back(let->name, let->value);
      return split(let->body);
    }
    check(!nest.staging.empty(), "no producer of a shared array comes first in its body");
    check(next < list.size(), "nothing follows its producers");
    nest.staging_lets = nest.lets;
    nest.compute = Block::make(std::vector<Stmt>(list.begin() + int64_t(next), list.end()));
    check(!uses_of(nest.compute).barriers, "its consumers hold a barrier");
  }

  bool stage(const Stmt &producer) {
    const Uses uses = uses_of(producer);
    check(!uses.barriers, "a producer holds a barrier");
    if (uses.written.empty())
      return false;
    for (const std::string &array : uses.written) {
      if (!arrays.shared.count(array))
        return false;
      nest.staged.insert(array);
    }
    nest.staging.push_back(producer);
    return true;
  }

  void check_extents() const {
    for (const For *loop : nest.loops) {
      for (const For *outer : nest.loops)
        check(!expr_uses_var(loop->extent, outer->name), "the extent of " + loop->name + " depends on " + outer->name);
      for (const auto &let : nest.lets)
        check(!expr_uses_var(loop->extent, let.first), "the extent of " + loop->name + " depends on " + let.first);
    }
  }
};

bool uses_thread(const Expr &e, const std::set<std::string> &depending) {
  for (const char *index : kThreadIndex) {
    if (expr_uses_var(e, index))
      return true;
  }
  for (const std::string &name : depending) {
    if (expr_uses_var(e, name))
      return true;
  }
  return false;
}

} // namespace

Lets lets_of_threads(const Lets &lets) {
  std::set<std::string> depending;
  Lets result;
  for (const auto &let : lets) {
    if (!uses_thread(let.second, depending))
      continue;
    depending.insert(let.first);
    result.push_back(let);
  }
  return result;
}

Expr kept(const Expr &value) {
  return Call::make(UInt(32), "hconv::kept", {value}, Call::PureExtern);
}

void flatten(const Stmt &s, std::vector<Stmt> &list) {
  if (const Block *block = s.as<Block>()) {
    flatten(block->first, list);
    flatten(block->rest, list);
  } else {
    list.push_back(s);
  }
}

Stmt with_lets(Stmt s, const Lets &lets) {
  for (auto let = lets.rbegin(); let != lets.rend(); ++let)
    s = LetStmt::make(let->first, let->second, s);
  return s;
}

std::optional<PipelineNest> take_apart(const For *outer, const PipelineRequest &request, const KernelArrays &arrays) {
  TakeApart apart(request, arrays);
  return apart.collect(outer) ? std::make_optional(apart.nest) : std::nullopt;
}

void expect_pipeline(bool ok, const PipelineRequest &request, const std::string &why) {
  _halide_user_assert(ok) << "Loop " << request.loop << " cannot be a pipeline of " << request.stages
                          << " stages: " << why;
}

} // namespace hconv
