# SPDX-License-Identifier: Apache-2.0
"""Reads every observed resource and writes ten desired ones."""

import click
from crossplane.function import cli, resource, response
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1


class Runner(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        rsp = response.to(req)
        summary = {}
        for name, observed in req.observed.resources.items():
            o = resource.struct_to_dict(observed.resource)
            ready = resource.get_condition(observed, "Ready").status
            summary[name] = f"{o['kind']} {o['metadata']['name']} {ready}"
        for i in range(10):
            resource.update(
                rsp.desired.resources[f"summary-{i}"],
                {
                    "apiVersion": "v1",
                    "kind": "ConfigMap",
                    "metadata": {"namespace": "team-blue", "labels": {"summary": str(i)}},
                    "data": summary,
                },
            )
        return rsp


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Runner(), **options)


main()
