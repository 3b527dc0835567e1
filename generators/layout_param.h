/** The generator parameter layout. */
#pragma once

#include <map>
#include <string>

namespace hconv {

/** In which order tensors [B, C, H, W] lie in memory, outermost first. */
enum class Layout { nchw, nhwc };

inline std::map<std::string, Layout> layout_names() {
  return {{"nchw", Layout::nchw}, {"nhwc", Layout::nhwc}};
}

} // namespace hconv
