// SPDX-License-Identifier: Apache-2.0
#pragma once
/// Where in the user's program a call of torch.distributed stands: the innermost Python frame that is not of torch,
/// the standard library or Orrery itself.
#include <string>
#include <string_view>
#include <unordered_map>

#include "torch.hpp"

namespace orrery::live::shim {

class Where {
 public:
  struct Place {
    std::string_view line;  ///< "train.py:31", for good; empty when no frame is the user's.
    bool is_async = false;  ///< The innermost frame is isend() or irecv().
  };

  /// Takes the GIL. The frames of this thread are walked; names are looked up once per code object.
  static Place here() {
    if (Py_IsInitialized() == 0) return {};
    const py::gil_scoped_acquire gil;
    return instance().find();
  }

  /// Directories whose files are not the user's: of torch, the standard library, Orrery.
  static void set_foreign(std::vector<std::string> directories) {
    instance().foreign_ = std::move(directories);
  }

 private:
  struct Code {
    bool is_user = false;
    bool is_async = false;
    std::string file;
    std::unordered_map<int, std::string> lines;  ///< By instruction.
  };

  static Where& instance() {
    static auto* where = new Where;  // Never destroyed: programs post while Python shuts down.
    return *where;
  }

  Place find() {
    Place place;
    bool is_innermost = true;
    auto frame = py::reinterpret_steal<py::object>(as_object(PyThreadState_GetFrame(PyThreadState_Get())));
    while (frame) {
      auto* raw = reinterpret_cast<PyFrameObject*>(frame.ptr());
      Code& code = look_up(raw);
      if (is_innermost) place.is_async = code.is_async;
      is_innermost = false;
      if (code.is_user) {
        place.line = line_of(raw, code);
        break;
      }
      frame = py::reinterpret_steal<py::object>(as_object(PyFrame_GetBack(raw)));
    }
    return place;
  }

  static PyObject* as_object(PyFrameObject* frame) { return reinterpret_cast<PyObject*>(frame); }

  Code& look_up(PyFrameObject* frame) {
    PyCodeObject* raw = PyFrame_GetCode(frame);
    const auto found = codes_.find(raw);
    if (found != codes_.end()) {
      Py_DECREF(raw);
      return found->second;
    }
    Code& code = codes_[raw];  // Keeps the reference: an address must not be used again.
    const auto object = py::reinterpret_borrow<py::object>(reinterpret_cast<PyObject*>(raw));
    const auto path = py::cast<std::string>(object.attr("co_filename"));
    const auto name = py::cast<std::string>(object.attr("co_name"));
    code.is_user = is_user(path);
    code.is_async = !code.is_user && (name == "isend" || name == "irecv");
    if (code.is_user) code.file = short_name(path);
    return code;
  }

  static const std::string& line_of(PyFrameObject* frame, Code& code) {
#if PY_VERSION_HEX >= 0x030B0000
    std::string& line = code.lines[PyFrame_GetLasti(frame)];
#else
    std::string& line = code.lines[PyFrame_GetLineNumber(frame)];
#endif
    if (line.empty()) line = code.file + ":" + std::to_string(PyFrame_GetLineNumber(frame));
    return line;
  }

  bool is_user(const std::string& path) const {
    if (path.starts_with("<frozen ")) return false;
    if (path.find("/site-packages/") != std::string::npos ||
        path.find("/dist-packages/") != std::string::npos) {
      for (const std::string& directory : foreign_) {
        if (directory.find("-packages/") != std::string::npos && path.starts_with(directory)) return false;
      }
      return true;  // A library above torch.
    }
    for (const std::string& directory : foreign_) {
      if (path.starts_with(directory)) return false;
    }
    return true;
  }

  /// Relative to the working directory when inside it, else the last component.
  static std::string short_name(const std::string& path) {
    const auto directory = py::cast<std::string>(py::module_::import("os").attr("getcwd")()) + "/";
    std::string name =
        path.starts_with(directory) ? path.substr(directory.size()) : path.substr(path.rfind('/') + 1);
    constexpr std::size_t kMost = 140;
    return name.size() > kMost ? name.substr(name.size() - kMost) : name;
  }

  std::vector<std::string> foreign_;
  std::unordered_map<PyCodeObject*, Code> codes_;
};

}  // namespace orrery::live::shim
