#include "nvcc.h"

#include "Halide.h"
#include <algorithm>
#include <cstring>
#include <fcntl.h>
#include <filesystem>
#include <fstream>
#include <iomanip>
#include <spawn.h>
#include <sstream>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

namespace fs = std::filesystem;

namespace hconv {

namespace {

std::string read_file(const fs::path &path) {
  std::ifstream in(path, std::ios::binary);
  return {std::istreambuf_iterator<char>(in), {}};
}

/** Runs a program without a shell; its stdout and stderr go to the file `log`. Returns the exit status. */
int run(const std::vector<std::string> &argv, const fs::path &log) {
  _halide_user_assert(std::ofstream(log).good()) << "Cannot write " << log.string() << ": " << strerror(errno);
  std::vector<char *> pointers;
  for (const std::string &a : argv)
    pointers.push_back(const_cast<char *>(a.c_str()));
  pointers.push_back(nullptr);
  posix_spawn_file_actions_t actions;
  posix_spawn_file_actions_init(&actions);
  posix_spawn_file_actions_addopen(&actions, 1, log.c_str(), O_WRONLY | O_CREAT | O_TRUNC, 0644);
  posix_spawn_file_actions_adddup2(&actions, 1, 2);
  pid_t child = 0;
  const int error = posix_spawnp(&child, pointers[0], &actions, nullptr, pointers.data(), environ);
  posix_spawn_file_actions_destroy(&actions);
  _halide_user_assert(error == 0) << "Cannot start " << argv[0] << ": " << strerror(error)
                                  << "; expected the path of nvcc in the generator parameter nvcc";
  int status = 0;
  while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
  }
  return WIFEXITED(status) ? WEXITSTATUS(status) : 128;
}

/** FNV-1a over a text, continued from `hash`. */
uint64_t fnv1a(const std::string &text, uint64_t hash) {
  for (const unsigned char c : text)
    hash = (hash ^ c) * 0x100000001b3ull;
  return hash;
}

std::string cache_key(const NvccJob &job, const std::vector<std::string> &flags, const fs::path &work) {
  const int status = run({job.compiler, "--version"}, work);
  _halide_user_assert(status == 0) << job.compiler << " --version failed with exit status " << status << ":\n"
                                   << read_file(work);
  std::string text = read_file(job.source) + read_file(work);
  for (const std::string &flag : flags)
    text += flag + '\n';
  for (const std::string &folder : job.includes) {
    std::vector<fs::path> headers(fs::directory_iterator(folder), {});
    std::sort(headers.begin(), headers.end());
    for (const fs::path &header : headers)
      text += fs::is_regular_file(header) ? read_file(header) : "";
  }
  std::ostringstream key;
  key << std::hex << std::setfill('0') << std::setw(16) << fnv1a(text, 0xcbf29ce484222325ull) << std::setw(16)
      << fnv1a(text, 0x84222325cbf29ce4ull);
  return key.str();
}

void take_from_cache(const fs::path &from, const fs::path &to) {
  std::error_code error;
  fs::copy_file(from, to, fs::copy_options::overwrite_existing, error);
  _halide_user_assert(!error) << "Cannot copy " << from.string() << " of the folder of HCONV_NVCC_CACHE to "
                              << to.string() << ": " << error.message();
}

/** Moves a file into the cache so that a reader sees all of it or nothing, from another file system too. */
void publish(const fs::path &from, const fs::path &to) {
  const fs::path temporary = to.string() + "." + std::to_string(getpid());
  std::error_code error;
  fs::copy_file(from, temporary, fs::copy_options::overwrite_existing, error);
  if (!error)
    fs::rename(temporary, to, error);
  _halide_user_assert(!error) << "Cannot write " << to.string()
                              << " in the folder of HCONV_NVCC_CACHE: " << error.message();
}

bool is_ptx(const std::string &arch) {
  return arch.compare(0, 3, "ptx") == 0;
}

/** Whether machine code for `arch` is assembled from the image's PTX, as a driver does that loads it: one run of the
 * compiler less. Not so for an architecture with a letter, whose own instructions only its own PTX can hold. */
bool assembles_ptx(const std::string &arch, const std::string &ptx) {
  const auto digits = [](const std::string &s) { return !s.empty() && std::all_of(s.begin(), s.end(), isdigit); };
  return digits(arch) && digits(ptx) && std::stoi(arch) >= std::stoi(ptx);
}

} // namespace

std::vector<std::string> split(const std::string &text, char separator) {
  std::vector<std::string> parts;
  std::istringstream in(text);
  for (std::string part; std::getline(in, part, separator);) {
    if (!part.empty())
      parts.push_back(part);
  }
  return parts;
}

std::vector<KernelResources> parse_ptxas(const std::string &text) {
  std::vector<KernelResources> all;
  bool of_kernel = false;
  std::istringstream in(text);
  for (std::string line; std::getline(in, line);) {
    char kernel[512], arch[32], function[512];
    int frame = 0, stores = 0, loads = 0, registers = 0;
    const size_t entry = line.find("Compiling entry function");
    if (entry != std::string::npos &&
        sscanf(line.c_str() + entry, "Compiling entry function '%511[^']' for 'sm_%31[^']'", kernel, arch) == 2) {
      all.push_back({kernel, arch, 0, 0, 0, 0});
    } else if (const size_t properties = line.find("Function properties for ");
               properties != std::string::npos &&
               sscanf(line.c_str() + properties, "Function properties for %511s", function) == 1) {
      // Functions that a kernel calls are listed after it, with properties of their own.
      of_kernel = !all.empty() && all.back().kernel == function;
    } else if (of_kernel && sscanf(line.c_str(), " %d bytes stack frame, %d bytes spill stores, %d bytes spill loads",
                                   &frame, &stores, &loads) == 3) {
      all.back().stack_bytes = frame;
      all.back().spill_store_bytes = stores;
      all.back().spill_load_bytes = loads;
    } else if (const size_t used = line.find("Used ");
               !all.empty() && used != std::string::npos &&
               sscanf(line.c_str() + used, "Used %d registers", &registers) == 1) {
      all.back().registers = registers;
    }
  }
  return all;
}

NvccResult run_nvcc(const NvccJob &job) {
  _halide_user_assert(fs::is_regular_file(job.source)) << "The CUDA source " << job.source << " does not exist";
  for (const std::string &folder : job.includes)
    _halide_user_assert(fs::is_directory(folder)) << "The include folder " << folder << " does not exist";
  std::vector<std::string> flags = {"--fatbin", "-std=c++17", "-O3", "-Xptxas", "-v", "-diag-suppress", "177"};
  const std::vector<std::string> archs = split(job.archs, ',');
  const auto ptx = std::find_if(archs.begin(), archs.end(), is_ptx);
  for (const std::string &arch : archs) {
    if (is_ptx(arch))
      flags.push_back("-gencode=arch=compute_" + arch.substr(3) + ",code=compute_" + arch.substr(3));
    else
      flags.push_back("-gencode=arch=compute_" +
                      (ptx != archs.end() && assembles_ptx(arch, ptx->substr(3)) ? ptx->substr(3) : arch) +
                      ",code=sm_" + arch);
  }
  const fs::path base = fs::path(job.source).replace_extension();
  const fs::path image = base.string() + ".fatbin", log = base.string() + ".nvcc.log";

  fs::path cached_image, cached_log;
  if (const char *cache = getenv("HCONV_NVCC_CACHE"); cache && *cache) {
    std::error_code error;
    fs::create_directories(cache, error);
    _halide_user_assert(fs::is_directory(cache))
        << "HCONV_NVCC_CACHE names " << cache << ", which cannot be made a folder"
        << (error ? ": " + error.message() : "");
    const std::string key = cache_key(job, flags, log);
    cached_image = fs::path(cache) / (key + ".fatbin");
    cached_log = fs::path(cache) / (key + ".log");
    if (fs::exists(cached_image) && fs::exists(cached_log)) {
      take_from_cache(cached_image, image);
      take_from_cache(cached_log, log);
      return {read_file(image), parse_ptxas(read_file(log))};
    }
  }
  std::vector<std::string> argv = {job.compiler};
  argv.insert(argv.end(), flags.begin(), flags.end());
  for (const std::string &folder : job.includes)
    argv.push_back("-I" + folder);
  argv.insert(argv.end(), {job.source, "-o", image.string()});
  const int status = run(argv, log);
  _halide_user_assert(status == 0) << job.compiler << " failed on " << job.source << " with exit status " << status
                                   << ":\n"
                                   << read_file(log);
  if (!cached_image.empty()) {
    publish(log, cached_log);
    publish(image, cached_image);
  }
  return {read_file(image), parse_ptxas(read_file(log))};
}

} // namespace hconv
