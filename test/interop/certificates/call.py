# SPDX-License-Identifier: Apache-2.0
"""Calls a function with gRPC's Python client and the certificates of a folder: call.py FOLDER PORT."""

import pathlib
import sys

import grpc
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1

folder, port = pathlib.Path(sys.argv[1]), sys.argv[2]
credentials = grpc.ssl_channel_credentials(
    root_certificates=(folder / "ca.crt").read_bytes(),
    private_key=(folder / "tls.key").read_bytes(),
    certificate_chain=(folder / "tls.crt").read_bytes(),
)
with grpc.secure_channel(f"localhost:{port}", credentials) as channel:
    request = fnv1.RunFunctionRequest(meta=fnv1.RequestMeta(tag="from-python"))
    try:
        response = grpcv1.FunctionRunnerServiceStub(channel).RunFunction(request, timeout=60)
    except grpc.RpcError as error:
        sys.exit(f"{error.code().name}: {error.details()}")
    print(response.meta.tag)
