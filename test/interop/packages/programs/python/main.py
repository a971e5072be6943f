# SPDX-License-Identifier: Apache-2.0
"""A composition function with the public Python SDK, as its template starts one."""

import os

import click
from crossplane.function import cli, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Greeter(grpcv1.FunctionRunnerServiceServicer):
    """Composes one ConfigMap that names its author."""

    async def RunFunction(self, req, _):
        rsp = response.to(req)
        spec = resource.struct_to_dict(req.observed.composite.resource).get("spec", {})
        data = {
            "language": "python",
            "greeting": f"{spec.get('greeting')} from Python",
            "function": os.environ.get("FUNCTION_NAME", ""),
            "uid": str(os.getuid()),
        }
        resource.update(rsp.desired.resources["python"], {"apiVersion": "v1", "kind": "ConfigMap", "data": data})
        rsp.desired.resources["python"].ready = fnv1.READY_TRUE
        return rsp


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Greeter(), **options)


main()
