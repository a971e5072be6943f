# SPDX-License-Identifier: Apache-2.0
"""Answers every request with what it was given."""

import click
from crossplane.function import cli, response
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Runner(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        return response.to(req)


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Runner(), **options)


main()
