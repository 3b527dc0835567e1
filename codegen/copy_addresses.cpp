#include "copy_addresses.h"

#include "async_copy.h"
#include "linear_index.h"
#include "polynomial.h"

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

const std::string kOffsets = "copy_offset", kPlaces = "copy_place", kMasks = "copy_mask";
constexpr size_t kMostCopies = 256; // of a producer: all of them are written out

/** Values that are kept in registers from before the loop, some of them made again in its steps. */
class KeptValues {
public:
  explicit KeptValues(const PipelineNest &nest) : nest(nest) {}

  /** The value of a polynomial modulo 2^32. */
  Expr keep(const std::string &array, const Polynomial &p) {
    const std::string text = array + ": " + p.text();
    if (!places.count(text))
      places[text] = add(array, p.wrapped());
    return load(UInt(32), array, places[text]);
  }

  /** Whether all conditions hold. */
  Expr keep(const std::vector<Expr> &conditions) {
    std::string text;
    Expr all;
    for (const Expr &condition : conditions) {
      text += text_of(condition) + "\n";
      all = all.defined() ? all && condition : condition;
    }
    if (!all.defined())
      return all;
    if (!bits.count(text)) {
      const int bit = int(bits.size());
      bits[text] = bit;
      if (bit % 32 == 0)
        masks.emplace_back();
      const Expr value = select(all, make_const(UInt(32), 1u << bit % 32), make_zero(UInt(32)));
      masks.back() = masks.back().defined() ? masks.back() | value : value;
    }
    const int bit = bits[text];
    return (load(UInt(32), kMasks, bit / 32) & make_const(UInt(32), 1u << bit % 32)) != make_zero(UInt(32));
  }

  /** Nothing may be kept after this. */
  void end() {
    for (const Expr &mask : masks)
      add(kMasks, mask);
  }

  Stmt first() const {
    std::map<std::string, Expr> start;
    for (const For *loop : nest.loops)
      start[loop->name] = 0;
    std::vector<Stmt> stores;
    for (const Value &v : values)
      stores.push_back(store(v.array, kept(simplify(substitute(start, v.value))), v.place));
    return Block::make(stores);
  }

  /** Makes again what depends on the variables of loops that have more than one step. */
  Stmt renew() const {
    std::map<std::string, std::vector<Stmt>> stores; // by the condition's text
    std::map<std::string, Expr> conditions;
    for (const Value &v : values) {
      Expr several;
      for (size_t i = 1; i < nest.loops.size(); i++) {
        const Expr more = 1 < nest.loops[i]->extent;
        if (expr_uses_var(v.value, nest.loops[i]->name))
          several = several.defined() ? several || more : more;
      }
      if (!several.defined() || is_const_zero(simplify(several)))
        continue;
      const std::string text = text_of(several);
      conditions[text] = several;
      stores[text].push_back(store(v.array, v.value, v.place));
    }
    std::vector<Stmt> all;
    for (const auto &[text, condition] : conditions)
      all.push_back(IfThenElse::make(condition, Block::make(stores[text])));
    return all.empty() ? Stmt() : Block::make(all);
  }

  std::map<std::string, int> counts; // elements of each array

private:
  struct Value {
    std::string array;
    int place;
    Expr value;
  };
  const PipelineNest &nest;
  std::vector<Value> values;
  std::map<std::string, int> places, bits; // by the text of what they hold
  std::vector<Expr> masks;

  int add(const std::string &array, const Expr &value) {
    const int place = counts[array]++;
    values.push_back({array, place, value});
    return place;
  }
};

/** One producer. */
class Share {
public:
  Share(const std::vector<AsyncCopy> &copies, const PipelineNest &nest) : nest(nest) {
    for (const AsyncCopy &copy : copies) {
      Parts parts;
      parts.copy = &copy;
      if (!take_apart(parts))
        return;
      all.push_back(parts);
    }
    fit = true;
  }

  bool fits() const { return fit; }

  /** The copies of one step. */
  Stmt staging(KeptValues &kept) {
    keep_what_is_common();
    std::vector<Stmt> stmts;
    std::map<std::string, std::pair<std::string, Expr>> moves; // by text: name and value
    for (const Parts &p : all) {
      const AsyncCopy &copy = *p.copy;
      const std::string text = copy.from->name + ": " + p.moved.text();
      if (!moves.count(text))
        moves[text] = {copy.from->name + ".moved" + std::to_string(moves.size()), p.moved.wrapped()};
      Expr index = Variable::make(UInt(32), moves[text].first);
      if (!p.offset.terms.empty())
        index = kept.keep(kOffsets, p.offset) + index;
      Expr place = int(p.place.constant());
      Polynomial moving_place = p.place;
      moving_place.add(Polynomial::Term{{}, -p.place.constant()});
      if (!moving_place.terms.empty())
        place = cast<int>(kept.keep(kPlaces, moving_place)) + place;
      std::vector<Expr> fixed;
      Expr condition;
      for (const Expr &fill : copy.fills) {
        if (expr_uses_var(fill, nest.loops[0]->name))
          condition = condition.defined() ? condition && fill : fill;
        else
          fixed.push_back(fill);
      }
      if (const Expr bit = kept.keep(fixed); bit.defined())
        condition = condition.defined() ? bit && condition : bit;
      const Expr bytes = condition.defined() ? select(condition, copy.bytes, 0) : Expr(copy.bytes);
      const Stmt one = call_statement(copy.call, {address(copy.to->type, copy.to->name, place),
                                                  address(copy.from->type, copy.from->name, cast<int>(index)), bytes});
      const Expr guard = kept.keep(copy.guards);
      const IfThenElse *before = stmts.empty() ? nullptr : stmts.back().as<IfThenElse>();
      if (!guard.defined())
        stmts.push_back(one);
      else if (before && equal(before->condition, guard))
        stmts.back() = IfThenElse::make(guard, Block::make(before->then_case, one));
      else
        stmts.push_back(IfThenElse::make(guard, one));
    }
    Stmt result = Block::make(stmts);
    for (const auto &move : moves)
      result = LetStmt::make(move.second.first, move.second.second, result);
    return result;
  }

private:
  struct Parts {
    const AsyncCopy *copy = nullptr;
    Polynomial offset, uniform, moved, place; // the index is the sum of the first three
  };
  const PipelineNest &nest;
  std::vector<Parts> all;
  bool fit = false;

  /** A loop's variable times what does not depend on any. */
  bool is_linear(const Polynomial::Term &term) const {
    int variables = 0;
    for (const auto &entry : term.factors) {
      const Expr &factor = entry.second.first;
      for (const For *loop : nest.loops) {
        if (!expr_uses_var(factor, loop->name))
          continue;
        if (!factor.as<Variable>() || entry.second.second != 1)
          return false;
        variables++;
      }
    }
    return variables == 1;
  }

  bool take_apart(Parts &parts) const {
    const std::string &outermost = nest.loops[0]->name;
    for (const auto &entry : polynomial(parts.copy->index).terms) {
      const Polynomial::Term &term = entry.second;
      bool moves = false;
      for (const For *loop : nest.loops)
        moves |= term.uses(loop->name);
      if (moves && is_linear(term))
        parts.moved.add(term);
      else if (term.uses(outermost))
        return false;
      else
        (moves || term.uses_thread() ? parts.offset : parts.uniform).add(term);
    }
    parts.place = polynomial(parts.copy->place);
    bool guarded_by_outermost = false;
    for (const Expr &guard : parts.copy->guards)
      guarded_by_outermost |= expr_uses_var(guard, outermost);
    return !parts.place.uses(outermost) && !guarded_by_outermost;
  }

  /** Copies whose offsets differ in nothing but what is the same in all threads share a register: the difference
   * moves. */
  void keep_what_is_common() {
    std::map<std::string, Polynomial> common; // by source and offset
    for (const Parts &p : all) {
      const std::string key = p.copy->from->name + ": " + p.offset.text();
      const auto found = common.find(key);
      if (found == common.end()) {
        common[key] = p.uniform;
        continue;
      }
      Polynomial both;
      for (const auto &[text, term] : found->second.terms) {
        const auto mine = p.uniform.terms.find(text);
        if (mine != p.uniform.terms.end() && mine->second.coefficient == term.coefficient)
          both.add(term);
      }
      found->second = both;
    }
    for (Parts &p : all) {
      const Polynomial &shared = common.at(p.copy->from->name + ": " + p.offset.text());
      p.moved.add(p.uniform);
      p.moved.add(shared, -1);
      p.offset.add(shared);
    }
  }
};

} // namespace

Stmt StagedCopies::around(Stmt s) const {
  for (const auto &[name, count] : kept)
    s = Allocate::make(name, UInt(32), MemoryType::Register, {count}, const_true(), s);
  return s;
}

StagedCopies copy_addresses(const Stmt &staging, const PipelineNest &nest, const Lets &around, const int (&block)[3]) {
  Lets lets = lets_of_threads(around);
  lets.insert(lets.end(), nest.staging_lets.begin(), nest.staging_lets.end());
  Scope<Interval> ranges;
  for (int axis = 0; axis < 3; axis++) {
    if (block[axis] > 0)
      ranges.push(kThreadIndex[axis], Interval(0, block[axis] - 1));
  }
  KeptValues kept(nest);
  std::vector<Stmt> list, producers;
  flatten(staging, list);
  for (const Stmt &s : list) {
    const ProducerConsumer *producer = s.as<ProducerConsumer>();
    const auto copies = producer ? async_copies_of(s, lets, ranges, kMostCopies) : std::nullopt;
    std::optional<Share> share;
    if (copies)
      share.emplace(*copies, nest);
    if (share && share->fits())
      producers.push_back(ProducerConsumer::make_produce(producer->name, share->staging(kept)));
    else
      producers.push_back(with_lets(s, nest.staging_lets));
  }
  kept.end();
  StagedCopies result{kept.counts.empty() ? Stmt() : kept.first(), Block::make(producers), kept.counts};
  if (const Stmt renew = kept.renew(); renew.defined())
    result.staging = Block::make(renew, result.staging);
  return result;
}

} // namespace hconv
