/** cuda_printer: every node of Halide's IR is printed or refused by name, never dropped. */
#include "codegen/cuda_expression.h"
#include "codegen/cuda_printer.h"
#include "support/child.h"
#include "support/lower.h"
#include <gtest/gtest.h>
#include <set>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

/** A node and what the printer makes of it: text, or the part of a refusal that names it. */
struct Case {
  std::string what;
  std::function<std::string()> print;
  std::string expected;
  bool refused;
};

/** Several cases for one type of node. */
using Table = std::map<IRNodeType, std::vector<Case>>;

Expr i32(const std::string &name) {
  return Variable::make(Int(32), name);
}
Expr truth(const std::string &name) {
  return Variable::make(Bool(), name);
}
Expr f32(const std::string &name) {
  return Variable::make(Float(32), name);
}
Expr bf16(const std::string &name) {
  return Variable::make(BFloat(16), name);
}
Expr load(Type type, const std::string &name, const Expr &index, const Expr &predicate = const_true()) {
  return Load::make(type, name, index, Buffer<>(), Parameter(), predicate, ModulusRemainder());
}
Stmt store(const std::string &name, const Expr &value, const Expr &index, const Expr &predicate = const_true()) {
  return Store::make(name, value, index, Parameter(), predicate, ModulusRemainder());
}

Case prints(const std::function<Expr()> &e, const std::string &text) {
  return {text, [e] { return CudaExpression().text(e()); }, text, false};
}
Case refuses(const std::function<Expr()> &e, const std::string &part) {
  return {part, [e] { return CudaExpression().text(e()); }, part, true};
}

/** The text between the braces of a kernel with this body. */
std::string body_text(const Stmt &body) {
  CudaKernel kernel;
  kernel.name = "k";
  kernel.body = body;
  const std::string text = print_cuda(kernel);
  const size_t start = text.find("{\n") + 2;
  return text.substr(start, text.rfind("}\n") - start);
}
Case prints_body(const std::function<Stmt()> &s, const std::string &text) {
  return {text, [s] { return body_text(s()); }, text, false};
}
Case refuses_body(const std::function<Stmt()> &s, const std::string &part) {
  return {part, [s] { return body_text(s()); }, part, true};
}

void add_expressions(Table &table) {
  const Expr i = i32("i"), j = i32("j"), f = f32("f"), g = f32("g"), p = truth("p"), q = truth("q");
  const Expr ramp = Ramp::make(i, 2, 4), wide = Broadcast::make(f, 4);
  table[IRNodeType::IntImm] = {prints([] { return Expr(7); }, "7"), prints([=] { return i - -7; }, "i - -7"),
                               prints([] { return IntImm::make(Int(8), -3); }, "int8_t(-3)")};
  table[IRNodeType::UIntImm] = {prints([] { return UIntImm::make(UInt(32), 7); }, "7u"),
                                prints([] { return make_bool(true); }, "true"),
                                prints([] { return UIntImm::make(UInt(16), 7); }, "uint16_t(7)")};
  table[IRNodeType::FloatImm] = {prints([] { return Expr(1.5f); }, "1.5f"), prints([] { return Expr(2.f); }, "2.0f"),
                                 prints([] { return make_zero(BFloat(16)); }, "hconv::bfloat16(0.0f)")};
  table[IRNodeType::StringImm] = {refuses([] { return StringImm::make("some text"); }, "string \"some text\"")};
  table[IRNodeType::Broadcast] = {
      prints([=] { return wide; }, "hconv::vec<float, 4>::broadcast(f)"),
      refuses([=] { return Broadcast::make(Broadcast::make(f, 2), 2); }, "Broadcast of a vector"),
      refuses([=] { return Broadcast::make(f, 3); }, "vector of 3 lanes")};
  table[IRNodeType::Cast] = {
      prints([=] { return Cast::make(Float(32), i + j); }, "float(i + j)"),
      prints([=] { return Cast::make(BFloat(16), f); }, "hconv::bfloat16(f)"),
      prints([=] { return Cast::make(Int(32), bf16("b")); }, "int32_t(float(b))"),
      prints([=] { return Cast::make(BFloat(16, 4), wide); },
             "hconv::vec<hconv::bfloat16, 4>::convert(hconv::vec<float, 4>::broadcast(f))"),
      refuses([=] { return Cast::make(Float(16), Variable::make(Float(64), "d")); }, "Cast from float64 to float16"),
      refuses([=] { return Cast::make(Bool(), i); }, "Cast from int32 to a truth value")};
  table[IRNodeType::Reinterpret] = {
      refuses([=] { return Reinterpret::make(UInt(32), f); }, "reinterpret from float32 to uint32")};
  table[IRNodeType::Variable] = {prints([=] { return i; }, "i"), prints([] { return i32("acc.s1.r$x.kw"); }, "kw"),
                                 prints([] { return i32("x.stride.3"); }, "x_stride_3"),
                                 prints([] { return i32("new"); }, "new_1"),
                                 prints([] { return i32("threadIdx.x") + i32("x"); }, "x + x_1")};
  table[IRNodeType::Add] = {prints([=] { return Add::make(i, j); }, "i + j"),
                            refuses([=] { return Add::make(bf16("b"), bf16("c")); }, "Arithmetic in bfloat16"),
                            refuses([=] { return Add::make(p, q); }, "Arithmetic with truth values")};
  table[IRNodeType::Sub] = {prints([=] { return Sub::make(i, Sub::make(i, j)); }, "i - (i - j)")};
  table[IRNodeType::Mul] = {prints([=] { return Mul::make(i, Add::make(i, j)); }, "i * (i + j)")};
  table[IRNodeType::Div] = {prints([=] { return Div::make(i, j); }, "hconv::floor_div(i, j)"),
                            prints([=] { return Div::make(i, Expr(8)); }, "i >> 3"),
                            prints([=] { return Div::make(f, g); }, "f / g"),
                            refuses([=] { return Div::make(ramp, Broadcast::make(3, 4)); }, "Vector division"),
                            refuses([=] { return Div::make(bf16("b"), bf16("c")); }, "Arithmetic in bfloat16")};
  table[IRNodeType::Mod] = {prints([=] { return Mod::make(i, j); }, "hconv::floor_mod(i, j)"),
                            prints([=] { return Mod::make(i, Expr(8)); }, "i & 7"),
                            refuses([=] { return Mod::make(f, g); }, "Modulo of floats"),
                            refuses([=] { return Mod::make(ramp, Broadcast::make(3, 4)); }, "Vector division")};
  table[IRNodeType::Min] = {prints([=] { return Min::make(i, j); }, "hconv::minimum(i, j)"),
                            refuses([=] { return Min::make(bf16("b"), bf16("c")); }, "Arithmetic in bfloat16")};
  table[IRNodeType::Max] = {prints([=] { return Max::make(f, g); }, "hconv::maximum(f, g)")};
  table[IRNodeType::EQ] = {prints([=] { return EQ::make(i, j); }, "i == j"),
                           refuses([=] { return EQ::make(bf16("b"), bf16("c")); }, "Arithmetic in bfloat16")};
  table[IRNodeType::NE] = {prints([=] { return NE::make(EQ::make(i, j), p); }, "i == j != p")};
  table[IRNodeType::LT] = {prints([=] { return LT::make(i, j); }, "i < j")};
  table[IRNodeType::LE] = {prints([=] { return LE::make(i, j); }, "i <= j")};
  table[IRNodeType::GT] = {prints([=] { return GT::make(i, j); }, "i > j")};
  table[IRNodeType::GE] = {prints([=] { return GE::make(i, j); }, "i >= j")};
  table[IRNodeType::And] = {prints([=] { return And::make(p, Or::make(p, q)); }, "p && (p || q)")};
  table[IRNodeType::Or] = {prints([=] { return Or::make(And::make(p, q), q); }, "(p && q) || q")};
  table[IRNodeType::Not] = {prints([=] { return Not::make(And::make(p, q)); }, "!(p && q)"),
                            refuses([=] { return Not::make(LT::make(ramp, Broadcast::make(3, 4))); }, "Vector !")};
  table[IRNodeType::Select] = {
      prints([=] { return Select::make(p, i, j); }, "p ? i : j"),
      prints([=] { return Select::make(p, Select::make(q, i, j), j); }, "p ? (q ? i : j) : j"),
      prints([=] { return Select::make(Broadcast::make(p, 4), wide, wide); },
             "hconv::select(hconv::vec<bool, 4>::broadcast(p), hconv::vec<float, 4>::broadcast(f), hconv::vec<float, "
             "4>::broadcast(f))")};
  table[IRNodeType::Load] = {
      prints([=] { return load(Float(32), "x", i + 1); }, "x[i + 1]"),
      refuses([=] { return load(Float(32, 4), "x", ramp, const_true(4)); }, "Vector load of x reached the printer"),
      refuses([=] { return load(Float(32), "x", i, p); }, "Predicated load of x")};
  table[IRNodeType::Ramp] = {prints([=] { return ramp; }, "hconv::vec<int32_t, 4>::ramp(i, 2)"),
                             refuses([=] { return Ramp::make(ramp, Broadcast::make(8, 4), 2); }, "Ramp of vectors")};
  table[IRNodeType::Call] = {
      refuses([] { return Call::make(Float(32), "sqrt_f32", {Expr(2.f)}, Call::PureExtern); }, "Call of sqrt_f32")};
  table[IRNodeType::Let] = {prints([=] { return Let::make("t", i + j, i32("t") * 2); }, "(i + j) * 2")};
  table[IRNodeType::Shuffle] = {refuses([=] { return Shuffle::make_concat({f, g}); }, "Vector shuffle")};
  table[IRNodeType::VectorReduce] = {
      refuses([=] { return VectorReduce::make(VectorReduce::Add, wide, 1); }, "Vector reduction")};
}

void add_statements(Table &table) {
  const Expr i = i32("i"), f = f32("f"), p = truth("p");
  const Stmt one = store("y", f, 0);
  auto loop = [=](ForType type) {
    return For::make("i", 0, 8, type, Partition::Auto, DeviceAPI::None, store("y", f, i));
  };
  auto array = [=](MemoryType memory, const std::vector<Expr> &extents, const Expr &place) {
    return Allocate::make("a", Float(32), memory, extents, const_true(), store("a", f, 0), place);
  };
  table[IRNodeType::LetStmt] = {prints_body([=] { return LetStmt::make("t", i + 1, store("y", f, i32("t"))); },
                                            "  const int32_t t = i + 1;\n  y[t] = f;\n")};
  table[IRNodeType::AssertStmt] = {refuses_body([=] { return AssertStmt::make(i < 3, i); }, "Assertion (i < 3)")};
  table[IRNodeType::ProducerConsumer] = {
      prints_body([=] { return ProducerConsumer::make("f", true, one); }, "  // produce f\n  y[0] = f;\n"),
      prints_body([=] { return ProducerConsumer::make("f", false, one); }, "  // consume f\n  y[0] = f;\n")};
  const std::string plain_loop = "  for (int i = 0; i < 8; i++) {\n    y[i] = f;\n  }\n";
  table[IRNodeType::For] = {prints_body([=] { return loop(ForType::Serial); }, plain_loop),
                            prints_body([=] { return loop(ForType::Unrolled); }, plain_loop),
                            refuses_body([=] { return loop(ForType::Parallel); }, "Loop i of type parallel"),
                            refuses_body([=] { return loop(ForType::Vectorized); }, "Loop i of type vectorized"),
                            refuses_body([=] { return loop(ForType::GPUThread); }, "Loop i of type gpu_thread"),
                            refuses_body([=] { return loop(ForType::GPULane); }, "Loop i of type gpu_lane"),
                            refuses_body([=] { return loop(ForType::GPUBlock); }, "Loop i of type gpu_block")};
  table[IRNodeType::Acquire] = {
      refuses_body([=] { return Acquire::make(Variable::make(Handle(), "s"), 1, one); }, "Acquire")};
  table[IRNodeType::Store] = {
      prints_body([=] { return store("y", f * 2.f, i + 1); }, "  y[i + 1] = f * 2.0f;\n"),
      refuses_body([=] { return store("y", Broadcast::make(f, 4), Ramp::make(i, 1, 4), const_true(4)); },
                   "Vector store to y reached the printer"),
      refuses_body([=] { return store("y", f, i, p); }, "Predicated store to y")};
  table[IRNodeType::Provide] = {refuses_body([=] { return Provide::make("g", {f}, {i}, const_true()); }, "Provide g")};
  table[IRNodeType::Allocate] = {
      prints_body([=] { return array(MemoryType::Register, {4}, Expr()); }, "  float a[4];\n  a[0] = f;\n"),
      prints_body(
          [=] {
            return array(MemoryType::GPUShared, {4, 8}, 128);
          },
          "  float *a = reinterpret_cast<float *>(shared + 128); // 32 elements\n  a[0] = f;\n"),
      refuses_body([=] { return array(MemoryType::GPUShared, {4}, Expr()); }, "Shared allocation a has no place"),
      refuses_body([=] { return array(MemoryType::Stack, {i}, Expr()); }, "Array a has no constant size")};
  table[IRNodeType::Free] = {prints_body([=] { return Block::make(one, Free::make("a")); }, "  y[0] = f;\n")};
  table[IRNodeType::Realize] = {
      refuses_body([=] { return Realize::make("g", {Float(32)}, MemoryType::Auto, {Range(0, 4)}, const_true(), one); },
                   "Realize g")};
  table[IRNodeType::Block] = {prints_body([=] { return Block::make(one, one); }, "  y[0] = f;\n  y[0] = f;\n")};
  table[IRNodeType::Fork] = {refuses_body([=] { return Fork::make(one, one); }, "Fork")};
  table[IRNodeType::IfThenElse] = {
      prints_body([=] { return IfThenElse::make(p, one); }, "  if (p) {\n    y[0] = f;\n  }\n"),
      prints_body([=] { return IfThenElse::make(p, one, store("y", f, 1)); },
                  "  if (p) {\n    y[0] = f;\n  }\n  else {\n    y[1] = f;\n  }\n")};
  table[IRNodeType::Evaluate] = {
      prints_body([=] { return Block::make(Evaluate::make(0), one); }, "  y[0] = f;\n"),
      prints_body(
          [=] { return Evaluate::make(Call::make(Int(32), Call::gpu_thread_barrier, {Expr(0)}, Call::Intrinsic)); },
          "  __syncthreads();\n"),
      refuses_body([=] { return Evaluate::make(Call::make(Int(32), "puts", {Expr(0)}, Call::Extern)); },
                   "Call of puts")};
  table[IRNodeType::Prefetch] = {refuses_body(
      [=] {
        return Prefetch::make("g", {Float(32)}, {Range(0, 4)}, {"g", "i", "i", 1, PrefetchBoundStrategy::Clamp, {}},
                              const_true(), one);
      },
      "Prefetch g")};
  table[IRNodeType::Atomic] = {refuses_body([=] { return Atomic::make("g", "", one); }, "Atomic g")};
  table[IRNodeType::HoistedStorage] = {
      refuses_body([=] { return HoistedStorage::make("g", one); }, "HoistedStorage g")};
}

TEST(IrNodes, EveryTypeIsPrintedOrRefusedByName) {
  Table table;
  add_expressions(table);
  add_statements(table);
  for (int type = 0; type <= int(IRNodeType::HoistedStorage); type++) {
    std::ostringstream name;
    name << IRNodeType(type);
    EXPECT_FALSE(table[IRNodeType(type)].empty()) << "no case for " << name.str();
    for (const Case &c : table[IRNodeType(type)]) {
      if (c.refused)
        EXPECT_NE(refusal_of(c.print).find(c.expected), std::string::npos) << name.str() << ": " << c.what << "\n"
                                                                           << ask(c.print).error;
      else
        EXPECT_EQ(text_of(c.print), c.expected) << name.str();
    }
  }
}

// What the printer has a spelling for, with arguments that it takes; every other intrinsic must be refused by its name.
TEST(IrNodes, EveryIntrinsicIsPrintedOrRefusedByName) {
  const std::map<Call::IntrinsicOp, std::string> printed = {{Call::bitwise_and, "i & j"},
                                                            {Call::bitwise_or, "i | j"},
                                                            {Call::bitwise_xor, "i ^ j"},
                                                            {Call::bitwise_not, "~i"},
                                                            {Call::gpu_thread_barrier, "__syncthreads()"},
                                                            {Call::likely, "i"},
                                                            {Call::likely_if_innermost, "i"},
                                                            {Call::shift_left, "hconv::shift_left(i, j)"},
                                                            {Call::shift_right, "hconv::shift_right(i, j)"}};
  const std::vector<Expr> args = {i32("i"), i32("j")};
  for (int op = 0; op < int(Call::IntrinsicOpCount); op++) {
    const auto intrinsic = Call::IntrinsicOp(op);
    const std::string name = Call::get_intrinsic_name(intrinsic);
    auto print = [=] { return CudaExpression().text(Call::make(Int(32), intrinsic, args, Call::PureIntrinsic)); };
    const auto expected = printed.find(intrinsic);
    if (expected != printed.end())
      EXPECT_EQ(text_of(print), expected->second) << name;
    else
      EXPECT_NE(refusal_of(print).find("Call of " + name), std::string::npos) << name;
  }
  // The three-armed if_then_else is a select; its two-armed form has no value where the condition fails.
  EXPECT_EQ(text_of([] {
              return CudaExpression().text(
                  Call::make(Int(32), Call::if_then_else, {truth("p"), i32("i"), i32("j")}, Call::PureIntrinsic));
            }),
            "p ? i : j");
}

TEST(IrNodes, CallsOfThePreludeKeepTheirName) {
  EXPECT_EQ(text_of([] {
              const Expr place =
                  Call::make(Handle(), kAddressOf, {load(Float(32), "x", i32("i") + 3)}, Call::PureExtern);
              return CudaExpression().text(Call::make(Float(32, 4), "hconv::load_aligned", {place}, Call::PureExtern));
            }),
            "hconv::load_aligned<hconv::vec<float, 4>>(x + i + 3)");
  EXPECT_NE(refusal_of([] {
              return CudaExpression().text(Call::make(Handle(), kAddressOf, {i32("i")}, Call::PureExtern));
            }).find("expected a load"),
            std::string::npos);
}

TEST(IrNodes, TypesWithoutASpellingAreRefusedByName) {
  EXPECT_NE(refusal_of([] { return cuda_type(Handle()); }).find("Type (void *)"), std::string::npos);
  EXPECT_NE(refusal_of([] { return cuda_type(Float(32, 6)); }).find("6 lanes"), std::string::npos);
}

} // namespace
