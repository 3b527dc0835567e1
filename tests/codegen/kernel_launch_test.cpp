/** kernel_launch: a GPU loop nest out of the host's IR, and a launch in its place. */
#include "codegen/kernel_launch.h"

#include "support/child.h"
#include "support/golden.h"
#include "support/ir.h"
#include "support/lower.h"
#include "support/pipelines.h"
#include <gtest/gtest.h>

using namespace Halide;
using namespace Halide::Internal;
using namespace hconv;
using namespace hconv_test;

namespace {

Stmt loop(ForType type, const std::string &name, const Expr &min, const Expr &extent, const Stmt &body) {
  return For::make(name, min, extent, type, Partition::Auto, DeviceAPI::CUDA, body);
}
Stmt block(const std::string &name, const Expr &extent, const Stmt &body) {
  return loop(ForType::GPUBlock, name, 0, extent, body);
}
Stmt threads(const std::string &name, const Expr &extent, const Stmt &body) {
  return loop(ForType::GPUThread, name, 0, extent, body);
}
Stmt shared(const std::string &name, Type type, int elements, const Stmt &body) {
  return Allocate::make(name, type, MemoryType::GPUShared, {elements}, const_true(), body);
}

void expect_refusal(const std::string &part, const std::function<Stmt()> &nest) {
  const std::string error = refusal_of([&] {
    const Stmt s = nest();
    CudaKernel kernel = extract_kernel(s.as<For>(), "k");
    layout_shared_memory(kernel);
    return describe(kernel);
  });
  EXPECT_NE(error.find(part), std::string::npos) << error;
}

TEST(KernelLaunch, ExtractsGridBlockAndArguments) {
  expect_golden(text_of([] { return describe(kernel_of(scaled())); }));
}

TEST(KernelLaunch, ExtractsAMatmul) {
  expect_golden(text_of([] {
    CudaKernel kernel = kernel_of(matmul());
    layout_shared_memory(kernel);
    return describe(kernel);
  }));
}

// Blocks and threads on all axes, with the schedule's names, and a scalar argument.
TEST(KernelLaunch, KnowsAllAxes) {
  expect_golden(text_of([] {
    const Expr place = (var("y.z.block_id_z") * 8 + var("y.y.block_id_y")) * 4 + var("y.x.block_id_x") +
                       var("y.tx.thread_id_x") * var("stride") + var("y.ty.thread_id_y") + var("y.tz.thread_id_z");
    const Stmt inner =
        threads("y.tz.thread_id_z", 2,
                threads("y.ty.thread_id_y", 3, threads("y.tx.thread_id_x", 5, store("out", 1.f, place))));
    const Stmt nest = block("y.z.block_id_z", var("B"),
                            block("y.y.block_id_y", 8, block("y.x.block_id_x", (var("W") + 3) / 4, inner)));
    return describe(extract_kernel(nest.as<For>(), "axes"));
  }));
}

TEST(KernelLaunch, RefusesWhatTheHostCannotLaunch) {
  const Stmt body = store("y", 1.f, 0);
  expect_refusal("GPU loop b.block_id_x starts at 1, expected 0",
                 [=] { return loop(ForType::GPUBlock, "b.block_id_x", 1, 4, body); });
  expect_refusal("GPU thread loop t.thread_id_x has the extent n, expected a constant",
                 [=] { return block("b.block_id_x", 4, threads("t.thread_id_x", var("n"), body)); });
  expect_refusal("Grid extent",
                 [=] { return block("b.block_id_x", 4, block("c.block_id_y", var("b.block_id_x") + 1, body)); });
  expect_refusal("gpu_lanes",
                 [=] { return block("b.block_id_x", 4, loop(ForType::GPULane, "l.thread_id_x", 0, 32, body)); });
  expect_refusal("none of the axes", [=] { return block("b.block_id_w", 4, body); });
  expect_refusal("k has 2048 threads a block, expected at most 1024", [=] {
    return block("b.block_id_x", 4, threads("t.thread_id_y", 64, threads("t.thread_id_x", 32, body)));
  });
}

// A let between block loops may hold what an inner extent is made of.
TEST(KernelLaunch, GridExtentsMayUseLetsOfTheNest) {
  const std::string text = text_of([] {
    const Stmt inner = block("c.block_id_y", var("rows"), store("y", 1.f, var("c.block_id_y") + var("rows")));
    const Stmt nest = block("b.block_id_x", 4, LetStmt::make("rows", var("H") / 8, inner));
    return describe(extract_kernel(nest.as<For>(), "k"));
  });
  EXPECT_NE(text.find("grid (H/8)\n"), std::string::npos) << text;
}

// Halide numbers a loop's name where an earlier stage had the same one.
TEST(KernelLaunch, KnowsNumberedLoops) {
  const std::string text = text_of([] {
    const Stmt nest = block("y.s1.c.block_id_y$1", var("C"),
                            threads(".thread_id_x$2", 32, store("y", 1.f, var("y.s1.c.block_id_y$1"))));
    return describe(extract_kernel(nest.as<For>(), "k"));
  });
  EXPECT_NE(text.find("grid 1\ngrid C\ngrid 1\nblock 32 1 1\nblockIdx.y is c\n"), std::string::npos) << text;
  EXPECT_NE(text.find("[blockIdx.y] = 1.0"), std::string::npos) << text;
}

/** A nest that adds up `count` numbers, each from a let of the host, and how many arguments its kernel takes. */
std::string arguments_with_lets(int count, const std::function<Expr(int)> &value) {
  return text_of([=] {
    Expr sum = 0;
    HostLets lets;
    for (int i = 0; i < count; i++) {
      const std::string name = "t" + std::to_string(i);
      lets.emplace_back(name, value(i));
      sum += var(name);
    }
    const Stmt nest = block("b.block_id_x", 4, store("y", cast<float>(sum), var("b.block_id_x")));
    return std::to_string(extract_kernel(nest.as<For>(), "k", lets).arguments.size());
  });
}

TEST(KernelLaunch, KeepsWhatTheHostComputedWhileItFits) {
  EXPECT_EQ(arguments_with_lets(63, [](int i) { return var("stride") * i; }), "64"); // and y
}

TEST(KernelLaunch, ComputesInTheKernelWhatWouldBeTooManyArguments) {
  EXPECT_EQ(arguments_with_lets(64, [](int i) { return var("stride") * i; }), "2"); // stride and y
}

// A let may use the ones before it; what the host calls stays with the host.
TEST(KernelLaunch, CallsStayWithTheHost) {
  auto value = [](int i) {
    return i == 0 ? Call::make(Int(32), "ask", {var("stride")}, Call::Extern) : var("t" + std::to_string(i - 1)) + 1;
  };
  EXPECT_EQ(arguments_with_lets(80, value), "2"); // t0 and y
}

TEST(KernelLaunch, SharedArraysStartAtMultiplesOf128Bytes) {
  expect_golden(text_of([] {
    CudaKernel kernel;
    kernel.name = "k";
    kernel.body = shared("a", Float(32), 33, shared("b", BFloat(16), 1, shared("c", UInt(8), 256, store("y", 1.f, 0))));
    layout_shared_memory(kernel);
    return describe(kernel);
  }));
}

// More than the 48 KB of static shared memory, up to what a block can have.
TEST(KernelLaunch, SharedMemoryMayExceed48KiB) {
  auto bytes = [](int elements) {
    return [=] {
      CudaKernel kernel;
      kernel.name = "k";
      kernel.body = shared("a", Float(32), elements, store("y", 1.f, 0));
      layout_shared_memory(kernel);
      return std::to_string(kernel.shared_bytes);
    };
  };
  EXPECT_EQ(text_of(bytes(25000)), "100000");
  EXPECT_EQ(text_of(bytes(227 * 256)), "232448");
  EXPECT_NE(refusal_of(bytes(227 * 256 + 1)).find("needs 232452 bytes of shared memory, expected at most 232448"),
            std::string::npos);
}

TEST(KernelLaunch, RefusesSharedMemoryWithoutAConstantSize) {
  expect_refusal("Shared allocation a has no constant size", [] {
    return block("b.block_id_x", 4,
                 Allocate::make("a", Float(32), MemoryType::GPUShared, {var("n")}, const_true(), store("y", 1.f, 0)));
  });
}

TEST(KernelLaunch, TheHostCallsTheLauncher) {
  expect_golden(text_of([] {
    CudaKernel kernel = kernel_of(matmul());
    layout_shared_memory(kernel);
    return to_string(make_launch(kernel, Variable::make(Handle(), "fatbin"), cuda_target()));
  }));
}

TEST(KernelLaunch, WithoutUserContextTheLauncherGetsNull) {
  const std::string text = text_of([] {
    CudaKernel kernel = kernel_of(scaled());
    return to_string(
        make_launch(kernel, Variable::make(Handle(), "fatbin"), cuda_target().without_feature(Target::UserContext)));
  });
  EXPECT_EQ(text.find("__user_context"), std::string::npos) << text;
  EXPECT_NE(text.find("hconv_cuda_launch(reinterpret<(void *)>((uint64)0)"), std::string::npos) << text;
}

TEST(KernelLaunch, RefusesMoreThan64Arguments) {
  const std::string error = refusal_of([] {
    CudaKernel kernel;
    kernel.name = "k";
    for (Expr &blocks : kernel.grid)
      blocks = 1;
    for (int i = 0; i < 65; i++)
      kernel.arguments.push_back({"a" + std::to_string(i), Int(32)});
    return to_string(make_launch(kernel, Variable::make(Handle(), "fatbin"), cuda_target()));
  });
  EXPECT_NE(error.find("k takes 65 arguments, expected at most 64"), std::string::npos) << error;
}

TEST(KernelLaunch, RemovesCopiesAndDirtyFlags) {
  const std::string host = text_of([] { return to_string(lower(scaled())); });
  EXPECT_NE(host.find("halide_copy_to_device"), std::string::npos) << "nothing to remove in\n" << host;
  const std::string removed = text_of([] { return to_string(remove_device_copies(lower(scaled()))); });
  for (const char *call : {"halide_copy_to_device", "halide_copy_to_host", "set_device_dirty", "set_host_dirty"})
    EXPECT_EQ(removed.find(call), std::string::npos) << removed;
  EXPECT_NE(removed.find("gpu_block"), std::string::npos) << removed;
}

// An intermediate result on the device, or one that the host computes for it: without Halide's copies both would be
// wrong.
TEST(KernelLaunch, RefusesIntermediateBuffers) {
  auto staged = [](bool on_device) {
    return [=] {
      ImageParam x(Float(32), 1, "x");
      Func before("before"), y("y");
      Var i("i"), b("b"), t("t");
      before(i) = x(i) + 1.f;
      y(i) = before(i) * before(i + 1);
      before.compute_root();
      if (on_device)
        before.gpu_tile(i, b, t, 32);
      y.gpu_tile(i, b, t, 32);
      return to_string(remove_device_copies(lower(y)));
    };
  };
  for (const bool on_device : {true, false})
    EXPECT_NE(refusal_of(staged(on_device)).find("before"), std::string::npos) << refusal_of(staged(on_device));
}

} // namespace
