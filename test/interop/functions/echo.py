# SPDX-License-Identifier: Apache-2.0
"""A function on the public Python SDK that answers every request with what it got."""

import click
from crossplane.function import cli, response
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Echo(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        return response.to(req)


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Echo(), **options)


main()
