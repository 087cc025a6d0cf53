"""KV304: generation on what the same program, test or script started for embedding."""

from __future__ import annotations

import pytest

from tests.launch.asking import marked, places

IMPORTS = """\
import asyncio, subprocess, threading
import openai, pytest, requests
import sglang as sgl
from sglang.srt.server_args import ServerArgs
from sglang.test.test_utils import DEFAULT_URL_FOR_TEST, popen_launch_server
from sglang.utils import launch_server_cmd
"""
FOUND = {
    "generate": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
engine.generate("x")  # KV304""",
    "without a name": 'sgl.Engine(model_path="m", is_embedding=True).generate("x")  # KV304',
    "runtime": """\
runtime = sgl.Runtime(model_path="m", is_embedding=True)
runtime.generate("x")  # KV304""",
    "async": """\
async def main(prompts):
    engine = sgl.Engine(model_path="m", is_embedding=True)
    await asyncio.gather(*[engine.async_generate(p) for p in prompts])  # KV304""",
    "server_args": """\
args = ServerArgs(model_path="m", is_embedding=True)
engine = sgl.Engine(server_args=args)
engine.generate("x")  # KV304""",
    "with": """\
with sgl.Engine(model_path="m", is_embedding=True) as engine:
    engine.generate("x")  # KV304""",
    "from a function": """\
def start():
    return sgl.Engine(model_path="m", is_embedding=True)
def main():
    engine = start()
    engine.generate("x")  # KV304""",
    "given to a function": """\
def answer(engine, prompt):
    return engine.generate(prompt)  # KV304
def main():
    engine = sgl.Engine(model_path="m", is_embedding=True)
    answer(engine, "x")""",
    "attribute": """\
class Service:
    def __init__(self):
        self.engine = sgl.Engine(model_path="m", is_embedding=True)
    def answer(self, prompt):
        return self.engine.generate(prompt)  # KV304""",
    "fixture": """\
@pytest.fixture(scope="module")
def engine():
    engine = sgl.Engine(model_path="m", is_embedding=True)
    yield engine
    engine.shutdown()
def test_it(engine):
    engine.generate("x")  # KV304""",
    "global": """\
engine = None
def setup():
    global engine
    engine = sgl.Engine(model_path="m", is_embedding=True)
def main():
    engine.generate("x")  # KV304""",
    "bound method": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
threading.Thread(target=engine.generate, args=("x",)).start()  # KV304""",
    "request": """\
def test_it():
    popen_launch_server("m", "http://127.0.0.1:31000", timeout=9, other_args=["--is-embedding"])
    requests.post("http://localhost:31000/generate", json={})  # KV304""",
    "request to the default port": """\
def main():
    subprocess.Popen(["python", "-m", "sglang.launch_server", "--model", "m", "--is-embedding"])
    requests.post("http://localhost:30000/v1/completions", json={})  # KV304""",
    "port in a variable": """\
def main(port):
    subprocess.Popen(["sglang", "serve", "m", "--is-embedding", "--port", str(port)])
    requests.post(f"http://localhost:{port}/generate", json={})  # KV304""",
    "port that a launcher chooses": """\
process, port = launch_server_cmd("python3 -m sglang.launch_server --model m --is-embedding")
requests.post(f"http://localhost:{port}/v1/chat/completions", json={})  # KV304""",
    "openai client": """\
def test_it(url):
    popen_launch_server("m", url, timeout=9, other_args=["--is-embedding"])
    client = openai.Client(api_key="x", base_url=f"{url}/v1")
    client.chat.completions.create(model="m", messages=[])  # KV304""",
    "test class": """\
class TestEmbedding:
    @classmethod
    def setUpClass(cls):
        cls.base_url = DEFAULT_URL_FOR_TEST
        cls.process = popen_launch_server(
            "m", cls.base_url, timeout=9, other_args=["--is-embedding"])
    def test_chat(self):
        requests.post(self.base_url + "/v1/chat/completions", json={})  # KV304""",
    "inherited set-up": """\
class Base:
    other_args = []
    @classmethod
    def setUpClass(cls):
        cls.url = DEFAULT_URL_FOR_TEST
        cls.process = popen_launch_server("m", cls.url, timeout=9, other_args=cls.other_args)
class TestEmbedding(Base):
    other_args = ["--is-embedding"]
    def test_generate(self):
        requests.post(f"{self.url}/generate", json={})  # KV304""",
}


@pytest.mark.parametrize("form", FOUND)
def test_found_where_it_is_marked(form: str) -> None:
    text = IMPORTS + FOUND[form] + "\n"
    assert set(places("app.py", text)) == marked(text)


SILENT = {
    "encode is right": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
engine.encode("x")""",
    "another engine": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
engine.shutdown()
engine = sgl.Engine(model_path="m")
engine.generate("x")""",
    "it is not known whether it embeds": """\
def run(embed):
    engine = sgl.Engine(model_path="m", is_embedding=embed)
    engine.generate("x")""",
    "one branch embeds": """\
def run(embed):
    if embed:
        engine = sgl.Engine(model_path="m", is_embedding=True)
    else:
        engine = sgl.Engine(model_path="m")
    engine.generate("x")""",
    "it is asked before": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
if engine.server_args.is_embedding:
    engine.encode("x")
else:
    engine.generate("x")""",
    "the refusal is what is tested": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
with pytest.raises(RuntimeError):
    engine.generate("x")""",
    "an error status is what is tested": """\
class TestEmbedding:
    def setUp(self):
        self.url = DEFAULT_URL_FOR_TEST
        popen_launch_server("m", self.url, timeout=9, other_args=["--is-embedding"])
    def test_it(self):
        response = requests.post(self.url + "/generate", json={})
        assert response.status_code == 400""",
    "an embedding request": """\
def test_it(url):
    popen_launch_server("m", url, timeout=9, other_args=["--is-embedding"])
    client = openai.Client(api_key="x", base_url=f"{url}/v1")
    client.embeddings.create(model="m", input="x")
    requests.post(f"{url}/v1/embeddings", json={})""",
    "another server": """\
def test_it(url, other):
    popen_launch_server("m", url, timeout=9, other_args=["--is-embedding"])
    popen_launch_server("m", other, timeout=9, other_args=[])
    requests.post(f"{other}/generate", json={})""",
    "another port": """\
def test_it():
    popen_launch_server("m", "http://127.0.0.1:1", timeout=9, other_args=["--is-embedding"])
    requests.post("http://127.0.0.1:2/generate", json={})""",
    "a later server at the same address": """\
def test_it(url):
    popen_launch_server("m", url, timeout=9, other_args=["--is-embedding"])
    popen_launch_server("m", url, timeout=9, other_args=[])
    requests.post(f"{url}/generate", json={})""",
    "a server of another test": """\
class TestEmbedding:
    def setUp(self):
        popen_launch_server("m", DEFAULT_URL_FOR_TEST, timeout=9, other_args=["--is-embedding"])
class TestChat:
    def setUp(self):
        self.url = DEFAULT_URL_FOR_TEST
    def test_it(self):
        requests.post(self.url + "/generate", json={})""",
    "generate of something else": """\
engine = sgl.Engine(model_path="m", is_embedding=True)
report.generate("x")""",
}


@pytest.mark.parametrize("reason", SILENT)
def test_silent_because(reason: str) -> None:
    assert places("app.py", IMPORTS + SILENT[reason] + "\n") == []


SERVER = "python -m sglang.launch_server --model m --is-embedding"


def test_a_script_that_chats_with_its_embedding_server() -> None:
    script = f"{SERVER} --port 31000 &\ncurl http://localhost:31000/v1/chat/completions -d '{{}}'\n"
    assert places("run.sh", script) == [(2, "KV304")]


@pytest.mark.parametrize(
    "request_line",
    [
        "curl http://localhost:30000/v1/embeddings -d '{}'",
        "curl http://localhost:30001/v1/chat/completions -d '{}'",
        "curl http://gateway:30000/v1/chat/completions -d '{}'",
    ],
)
def test_a_script_whose_requests_are_right_or_go_elsewhere(request_line: str) -> None:
    assert places("run.sh", f"{SERVER} &\n{request_line}\n") == []
