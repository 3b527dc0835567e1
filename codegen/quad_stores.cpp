#include "quad_stores.h"

#include "implied_condition.h"
#include "linear_index.h"
#include "matrix_tile.h"
#include <algorithm>
#include <set>

using namespace Halide;
using namespace Halide::Internal;

namespace hconv {

namespace {

constexpr int kQuad = 4, kRow = 8; // lanes that exchange; elements of a lane afterwards
constexpr const char *kValues = "row_values";

/** The nest, taken apart. Expressions have all lets put in. */
struct StoreNest {
  std::vector<const For *> loops; // outermost first, without pair
  std::string pair;               // full name
  std::vector<Expr> conditions;   // all of them must hold
  const Store *store = nullptr;
  Expr index, value;
};

class QuadStores : public IRMutator {
public:
  explicit QuadStores(const std::string &pair) : pair(pair) {}
  bool found = false;

  using IRMutator::mutate;
  Stmt mutate(const Stmt &s) override {
    StoreNest nest;
    const bool starts = s.as<For>() || s.as<LetStmt>() || s.as<IfThenElse>();
    if (found || !starts || !collect(s, nest))
      return IRMutator::mutate(s);
    found = true;
    return build(nest);
  }

private:
  const std::string &pair;
  Lets lets;
  std::set<std::string> arrays;

  using IRMutator::visit;

  static void check(bool ok, const std::string &why) {
    _halide_user_assert(ok) << "The sums cannot be stored 16 bytes at a time: " << why;
  }

  Stmt visit(const Allocate *op) override {
    arrays.insert(op->name);
    return IRMutator::visit(op);
  }

  Stmt visit(const LetStmt *op) override {
    lets.emplace_back(op->name, op->value);
    Stmt body = mutate(op->body);
    lets.pop_back();
    return LetStmt::make(op->name, op->value, body);
  }

  bool collect(const Stmt &outer, StoreNest &nest) const {
    Lets inner = lets;
    Stmt s = outer;
    for (;;) {
      if (const LetStmt *let = s.as<LetStmt>()) {
        inner.emplace_back(let->name, let->value);
        s = let->body;
      } else if (const For *loop = s.as<For>()) {
        if (!is_const(loop->extent) || !is_const_zero(loop->min))
          return false;
        if (last_name(loop->name) == pair)
          nest.pair = loop->name;
        else
          nest.loops.push_back(loop);
        s = loop->body;
      } else if (const IfThenElse *branch = s.as<IfThenElse>(); branch && !branch->else_case.defined()) {
        split_and(expanded(branch->condition, inner), nest.conditions);
        s = branch->then_case;
      } else {
        break;
      }
    }
    nest.store = s.as<Store>();
    const bool stores = nest.store && !nest.pair.empty() && !arrays.count(nest.store->name) &&
                        nest.store->value.type().is_float() && nest.store->value.type().bits() == 16;
    if (stores) {
      nest.index = with_lets(nest.store->index, inner);
      nest.value = expanded(nest.store->value, inner);
    }
    return stores;
  }

  static int64_t distance(const Expr &index, const Place &from, const Place &to) {
    const Expr apart = simplify(at(index, to) - at(index, from));
    const auto constant = as_const_int(apart);
    check(bool(constant), "within a tile their index moves by " + text_of(apart));
    return *constant;
  }

  void check_value(const Expr &value) const {
    class Loads : public IRVisitor {
      const std::set<std::string> &arrays;
      using IRVisitor::visit;
      void visit(const Load *op) override {
        check(arrays.count(op->name) || op->index.as<Min>(),
              "element " + text_of(op->index) + " of " + op->name + ", which they are made of, may not be there");
        IRVisitor::visit(op);
      }

    public:
      explicit Loads(const std::set<std::string> &arrays) : arrays(arrays) {}
    } loads(arrays);
    value.accept(&loads);
  }

  /** Loops with the ones first whose tiles are neighbours in y, innermost. */
  static std::vector<const For *> ordered(const StoreNest &nest) {
    std::vector<const For *> loops = nest.loops;
    auto stride = [&](const For *loop) {
      const auto constant =
          as_const_int(simplify(at(nest.index, {{loop->name, 1}}) - at(nest.index, {{loop->name, 0}})));
      return constant ? *constant : INT64_MAX;
    };
    std::stable_sort(loops.begin(), loops.end(), [&](const For *a, const For *b) { return stride(a) > stride(b); });
    return loops;
  }

  /** The loops' values in tile `number`. */
  static Place tile_place(const std::vector<const For *> &loops, Expr number) {
    Place place;
    for (auto loop = loops.rbegin(); loop != loops.rend(); ++loop) {
      const int extent = int(*as_const_int((*loop)->extent));
      place[(*loop)->name] = simplify(number % extent);
      number = simplify(number / extent);
    }
    return place;
  }

  static Expr placed(Expr e, const Place &place) {
    for (const auto &[name, value] : place)
      e = substitute(name, Variable::make(Int(32), name + ".new"), e);
    for (const auto &[name, value] : place)
      e = substitute(name + ".new", value, e);
    return e;
  }

  /** The lane and pair of element i of the row that lane `g` * 4 has after the exchange: g is the row's number. */
  static Place element_place(const std::string &pair, const Expr &g, int i, bool by_rows) {
    if (by_rows)
      return {{kThreadIndex[0], g / 2 + 4 * i}, {pair, g % 2}};
    return {{kThreadIndex[0], g * 4 + i / 2}, {pair, i % 2}};
  }

  /** True where neighbours in y are rows of a tile, false where they are its columns. */
  static bool neighbours_are_rows(const StoreNest &nest) {
    const Expr g = Variable::make(Int(32), "g");
    const Expr first = at(nest.index, element_place(nest.pair, g, 0, false));
    const Expr beside = simplify(at(nest.index, element_place(nest.pair, g, 1, false)) - first);
    const bool by_rows = !is_const_one(beside);
    for (int i = 1; i < kRow; i++) {
      for (int row = 0; row < kRow; row++) {
        const int64_t apart =
            distance(nest.index, element_place(nest.pair, row, 0, by_rows), element_place(nest.pair, row, i, by_rows));
        check(apart == i,
              "element " + std::to_string(i) + " of 8 lies " + std::to_string(apart) + " elements behind the first");
      }
    }
    return by_rows;
  }

  Stmt build(const StoreNest &nest) const {
    check_value(nest.value);
    const bool by_rows = neighbours_are_rows(nest);
    const std::vector<const For *> loops = ordered(nest);
    const int tiles = tile_count(loops), groups = (tiles + kQuad - 1) / kQuad;
    const Type type = nest.store->value.type();
    const Expr number = tile_number(loops), which = Variable::make(Int(32), nest.pair);
    Stmt pack = store(kValues, nest.value, simplify(number * 2 + which));
    pack = For::make(nest.pair, 0, 2, ForType::Serial, Partition::Never, DeviceAPI::None, pack);
    pack = in_tile_loops(pack, loops);
    for (int i = 2 * tiles; i < groups * kRow; i++) // no tiles, but exchanged
      pack = Block::make(pack, store(kValues, make_zero(type), i));

    const Expr group = Variable::make(Int(32), "group"), lane = Variable::make(Int(32), kThreadIndex[0]);
    Stmt exchange = call_statement(by_rows ? "hconv::transpose_and_exchange" : "hconv::exchange",
                                   {address(type, kValues, group * kRow)});
    Stmt give = Block::make(exchange, store_row(nest, loops, by_rows, group, lane));
    give = For::make("group", 0, groups, ForType::Serial, Partition::Never, DeviceAPI::None, give);
    return Allocate::make(kValues, type, MemoryType::Register, {groups * kRow}, const_true(), Block::make(pack, give));
  }

  /** Stores the 8 neighbours that this lane has of tile 4 group + q. */
  static Stmt store_row(const StoreNest &nest, const std::vector<const For *> &loops, bool by_rows, const Expr &group,
                        const Expr &lane) {
    const Expr number = group * kQuad + lane % kQuad;
    const Place tile = tile_place(loops, number);
    auto place = [&](int i) {
      Place all = element_place(nest.pair, lane / 4, i, by_rows);
      all.insert(tile.begin(), tile.end());
      return all;
    };
    // All of it depends on the row, and on the first, the last and each of the 8.
    Expr row_stored = const_true(), all_stored = const_true();
    std::vector<Expr> stored(kRow, const_true());
    auto add = [](Expr &all, const Expr &one) { all = is_const_one(all) ? one : all && one; };
    if (tile_count(loops) % kQuad != 0)
      row_stored = number < tile_count(loops);
    for (const Expr &condition : nest.conditions) {
      std::vector<Expr> here;
      for (int i = 0; i < kRow; i++)
        here.push_back(placed(condition, place(i)));
      if (std::all_of(here.begin(), here.end(), [&](const Expr &e) { return same(e, here[0]); })) {
        add(row_stored, simplify(here[0]));
        continue;
      }
      bool by_last = true;
      for (int i = 0; i < kRow; i++) {
        const bool last = implied(here[size_t(i)], here.back());
        check(last || implied(here[size_t(i)], here[0]),
              "it is not proved that the middle of a row is stored where its ends are, under " + text_of(condition));
        by_last &= last;
        add(stored[size_t(i)], simplify(here[size_t(i)]));
      }
      if (!by_last)
        add(all_stored, simplify(here[0]));
      add(all_stored, simplify(here.back()));
    }
    Expr mask = 0;
    for (int i = 0; i < kRow; i++)
      mask += select(stored[size_t(i)], 1 << i, 0);
    const Type type = nest.store->value.type();
    const Expr values = address(type, kValues, group * kRow);
    const Expr to = address(type, nest.store->name, Variable::make(Int(32), "row_index"));
    Stmt all = IfThenElse::make(all_stored, call_statement("hconv::store_row", {to, values}),
                                call_statement("hconv::store_some", {to, values, simplify(mask)}));
    all = LetStmt::make("row_index", at(nest.index, place(0)), all);
    return IfThenElse::make(row_stored, all);
  }
};

} // namespace

Stmt quad_stores(const Stmt &body, const std::string &pair) {
  if (pair.empty())
    return body;
  QuadStores pass(pair);
  Stmt result = pass.mutate(body);
  _halide_user_assert(pass.found) << "No loop nest with a loop " << pair << " stores 16-bit floats";
  return result;
}

} // namespace hconv
