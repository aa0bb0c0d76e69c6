"""`python -m bench.serving.serve NAME PORT TOOLS`: one of the compared apps on a socket, until
stopped. Pecia stands behind its own server, the bare SDK behind the same uvicorn.
"""

import sys
import tempfile
from contextlib import AsyncExitStack
from pathlib import Path

import anyio
import uvicorn

from bench.serving.baselines import bare, bench_tools, opened, with_tools
from pecia.app.app import run_maintenance
from pecia.interfaces.http.server import LOOP_OPTIONS, serve_http
from pecia.interfaces.mcp.mount import mount_mcp


async def pecia(port: int, tools: int) -> None:
    with tempfile.TemporaryDirectory() as folder:
        async with opened(Path(folder)) as app, anyio.create_task_group() as tasks:
            tasks.start_soon(run_maintenance, app)
            served = with_tools(app, bench_tools(tools))
            async with serve_http(served, host="127.0.0.1", port=port, mounts=[mount_mcp]):
                await anyio.to_thread.run_sync(sys.stdin.read)
            tasks.cancel_scope.cancel()


async def sdk(port: int, tools: int) -> None:
    async with AsyncExitStack() as stack:
        # Stateful, as Pecia is for clients of the older era.
        app = await bare(bench_tools(tools), stack, only_json=False, stateless=False)
        config = uvicorn.Config(app, port=port, lifespan="off", log_config=None, access_log=False)
        server = uvicorn.Server(config)
        async with anyio.create_task_group() as tasks:
            tasks.start_soon(server.serve)
            await anyio.to_thread.run_sync(sys.stdin.read)
            server.should_exit = True


if __name__ == "__main__":
    rival = {"pecia": pecia, "bare": sdk}[sys.argv[1]]
    anyio.run(rival, int(sys.argv[2]), int(sys.argv[3]), backend_options=LOOP_OPTIONS)
