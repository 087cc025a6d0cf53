"""Guards that the code around the call is ready for, and handlers that only look like it."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.inference.programs import assert_finds, assert_silent

FOUND = {
    "finally only": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            finally:
                step()
    """,
    "another exception": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except (ValueError, KeyError):
                pool.get_key_buffer(0)
    """,
    "a subclass of what is raised": """
        class Special(NotImplementedError):
            pass
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except Special:
                pool.get_key_buffer(0)
    """,
    "raised again": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except NotImplementedError:
                raise
    """,
    "logged and raised again": """
        import logging
        logger = logging.getLogger(__name__)
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except NotImplementedError as error:
                logger.exception("no pair: %s", error)
                raise
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except Exception as error:
                print(error)
                raise error
    """,
    "in the handler": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_key_buffer(0)
            except NotImplementedError:
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "in else and finally": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_key_buffer(0)
            except NotImplementedError:
                pass
            else:
                pool.get_kv_buffer(0)  # EXPECT KV101
            finally:
                pool.get_value_buffer(0)  # EXPECT KV101
    """,
    "after the try": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_key_buffer(0)
            except NotImplementedError:
                pass
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "in a function defined in the try": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                def read():
                    return pool.get_kv_buffer(0)  # EXPECT KV101
            except NotImplementedError:
                return None
            return read
    """,
    "RuntimeError does not come from an assertion": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)  # EXPECT KV101
            except AssertionError:
                return None
    """,
    "pytest.raises of something else": """
        import pytest
        def test(pool: DeepSeekV4SingleKVPool):
            with pytest.raises(ValueError):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "pytest.warns": """
        import pytest
        def test(pool: DeepSeekV4SingleKVPool):
            with pytest.warns(UserWarning):
                pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "after pytest.raises": """
        import pytest
        def test(pool: DeepSeekV4SingleKVPool):
            with pytest.raises(NotImplementedError):
                pool.get_kv_buffer(0)
            pool.get_kv_buffer(0)  # EXPECT KV101
    """,
    "an attribute that is not there, NotImplementedError caught": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_contiguous_buf_infos()  # EXPECT KV104
            except NotImplementedError:
                return None
    """,
}

SILENT = {
    **{
        f"except {spelling}": f"""
        import builtins
        UNSUPPORTED = (NotImplementedError, RuntimeError)
        Unsupported = NotImplementedError
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                return pool.get_kv_buffer(0)
            except {spelling}:
                return pool.get_key_buffer(0), None
    """
        for spelling in (
            "NotImplementedError",
            "NotImplementedError as error",
            "RuntimeError",
            "Exception",
            "BaseException",
            "(NotImplementedError, AttributeError)",
            "(ValueError, RuntimeError) as error",
            "builtins.NotImplementedError",
            "UNSUPPORTED",
            "Unsupported",
            "(ValueError, *UNSUPPORTED)",
            "UNSUPPORTED + (KeyError,)",
        )
    },
    "bare except": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                return pool.get_kv_buffer(0)
            except:
                return None
    """,
    "second handler": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                return pool.get_kv_buffer(0)
            except ValueError:
                raise
            except NotImplementedError:
                return None
    """,
    "constant on the class": """
        class Backend:
            UNSUPPORTED = (NotImplementedError,)
            def f(self, pool: DeepSeekV4SingleKVPool):
                try:
                    return pool.get_kv_buffer(0)
                except self.UNSUPPORTED:
                    return None
    """,
    "local constant": """
        def f(pool: DeepSeekV4SingleKVPool):
            unsupported = (NotImplementedError, ValueError)
            try:
                return pool.get_kv_buffer(0)
            except unsupported:
                return None
    """,
    "handled and logged": """
        def f(pool: DeepSeekV4SingleKVPool, logger):
            try:
                return pool.get_kv_buffer(0)
            except NotImplementedError:
                logger.warning("one buffer only")
    """,
    "raised as another": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)
            except NotImplementedError as error:
                raise RuntimeError("unsupported pool") from error
    """,
    "handled by pass": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                pool.get_kv_buffer(0)
            except NotImplementedError:
                pass
    """,
    "handled in a loop": """
        def f(pools: list[DeepSeekV4SingleKVPool]):
            for pool in pools:
                try:
                    pool.get_kv_buffer(0)
                except NotImplementedError:
                    continue
    """,
    "raised again under a condition": """
        def f(pool: DeepSeekV4SingleKVPool, strict):
            try:
                return pool.get_kv_buffer(0)
            except NotImplementedError:
                if strict:
                    raise
                return None
    """,
    "outer handler": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                try:
                    pool.get_kv_buffer(0)
                except ValueError:
                    pass
                finally:
                    step()
            except NotImplementedError:
                return None
    """,
    "inner handler raises again, outer handles": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                try:
                    pool.get_kv_buffer(0)
                except NotImplementedError:
                    raise
            except NotImplementedError:
                return None
    """,
    "with inside a try": """
        def f(pool: DeepSeekV4SingleKVPool, lock):
            try:
                with lock:
                    if lock:
                        for i in range(3):
                            pool.get_kv_buffer(i)
            except NotImplementedError:
                return None
    """,
    **{
        f"with {context}": f"""
        import contextlib
        import pytest
        from contextlib import suppress
        from pytest import raises
        def test(pool: DeepSeekV4SingleKVPool):
            with {context}:
                pool.get_kv_buffer(0)
    """
        for context in (
            "pytest.raises(NotImplementedError)",
            'pytest.raises(NotImplementedError, match="key")',
            "pytest.raises((NotImplementedError, ValueError)) as info",
            "pytest.raises(expected_exception=NotImplementedError)",
            "raises(Exception)",
            "suppress(NotImplementedError)",
            "contextlib.suppress(ValueError, NotImplementedError)",
            "open('x') as file, pytest.raises(NotImplementedError)",
        )
    },
    "unittest": """
        import unittest
        class T(unittest.TestCase):
            def test(self, pool: DeepSeekV4SingleKVPool):
                with self.assertRaises(NotImplementedError):
                    pool.get_kv_buffer(0)
                with self.assertRaisesRegex(NotImplementedError, "key"):
                    pool.get_kv_buffer(0)
                self.assertRaises(NotImplementedError, pool.get_kv_buffer, 0)
                self.assertRaises(NotImplementedError, lambda: pool.get_kv_buffer(0))
    """,
    "pytest.raises called": """
        import pytest
        def test(pool: DeepSeekV4SingleKVPool):
            pytest.raises(NotImplementedError, pool.get_kv_buffer, 0)
            pytest.raises(NotImplementedError, lambda: pool.get_kv_buffer(0))
    """,
    "pytest.raises around a function that is called": """
        import pytest
        def test(pool: DeepSeekV4SingleKVPool):
            with pytest.raises(NotImplementedError):
                [pool.get_kv_buffer(i) for i in range(3)]
    """,
    "xfail": """
        import pytest
        @pytest.mark.xfail(raises=NotImplementedError)
        def test(pool: DeepSeekV4SingleKVPool):
            pool.get_kv_buffer(0)
    """,
    "expectedFailure": """
        import unittest
        class T(unittest.TestCase):
            @unittest.expectedFailure
            def test(self, pool: DeepSeekV4SingleKVPool):
                pool.get_kv_buffer(0)
    """,
    "no-op write that is expected to fail": """
        import pytest
        def test(pool: NoOpMHATokenToKVPool, layer, loc, k):
            with pytest.raises(RuntimeError):
                pool.set_kv_buffer(layer, loc, k, k)
    """,
    "k-only write that is expected to fail": """
        import pytest
        def test(pool: MHATokenToKOnlyPool, layer, loc, k):
            with pytest.raises((NotImplementedError, RuntimeError)):
                pool.set_kv_buffer(layer, loc, k, k)
    """,
    "attribute that may be missing": """
        def f(pool: DeepSeekV4SingleKVPool):
            try:
                return pool.get_contiguous_buf_infos()
            except AttributeError:
                return None
    """,
    "attribute asked for first": """
        def f(pool: DeepSeekV4SingleKVPool):
            if hasattr(pool, "get_contiguous_buf_infos"):
                return pool.get_contiguous_buf_infos()
            return getattr(pool, "k_buffer", None)
    """,
}


@pytest.mark.parametrize("source", FOUND.values(), ids=FOUND)
def test_found(source: str, tmp_path: Path) -> None:
    assert_finds(source, tmp_path)


@pytest.mark.parametrize("source", SILENT.values(), ids=SILENT)
def test_silent(source: str, tmp_path: Path) -> None:
    assert_silent(source, tmp_path)
