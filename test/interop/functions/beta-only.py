# SPDX-License-Identifier: Apache-2.0
"""A function from the days before v1: it serves v1beta1 and nothing else."""

import asyncio
import signal
import sys

import grpc
from crossplane.function.proto.v1beta1 import run_function_pb2 as fnv1beta1
from crossplane.function.proto.v1beta1 import run_function_pb2_grpc as grpcv1beta1


class Runner(grpcv1beta1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        rsp = fnv1beta1.RunFunctionResponse(
            meta=fnv1beta1.ResponseMeta(tag=req.meta.tag), desired=req.desired, context=req.context
        )
        rsp.results.append(fnv1beta1.Result(severity=fnv1beta1.SEVERITY_NORMAL, message="from v1beta1"))
        return rsp


async def main(address):
    server = grpc.aio.server()
    grpcv1beta1.add_FunctionRunnerServiceServicer_to_server(Runner(), server)
    server.add_insecure_port(address)
    await server.start()
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    await stop.wait()
    await server.stop(grace=1)


asyncio.run(main(sys.argv[1]))
