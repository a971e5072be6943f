# SPDX-License-Identifier: Apache-2.0
"""The postcard function with the public Python SDK. postcard.mjs does the same."""

import datetime
import os
import pathlib

import click
from crossplane.function import cli, request, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1
from google.protobuf import json_format

TRAIL = "e2e.example.org/trail"
NEWS = pathlib.Path(os.environ["POSTCARD_NEWS"])


class Postcard(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        rsp = response.to(req, ttl=datetime.timedelta(seconds=1))
        step = resource.struct_to_dict(req.input)["step"]
        spec = resource.struct_to_dict(req.observed.composite.resource)["spec"]
        seen = json_format.MessageToDict(req.context).get(TRAIL, [])
        # Called again with what it asked for, a function gets back the context it left.
        trail = seen if step in seen else [*seen, step]
        rsp.context[TRAIL] = trail
        if not spec["text"]:
            refuse(rsp)
            return rsp
        if spec["text"] == "spill":
            raise RuntimeError("the ink is spilled")

        namespace = spec["claimRef"]["namespace"]
        response.require_resources(
            rsp, "recipient", "v1", "ConfigMap", match_name=spec["recipient"], namespace=namespace
        )
        response.require_schema(rsp, "card", "v1", "ConfigMap")
        recipient = request.get_required_resource(req, "recipient")
        if recipient is None:
            wait(rsp, spec["recipient"])
            return rsp

        stamp = request.get_credentials(req, "stamp").data.get("value", "")
        data = {"text": spec["text"], "to": recipient["data"]["address"], "stamp": stamp}
        card = rsp.desired.resources["card"]
        resource.update(
            card, {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"namespace": namespace}, "data": data}
        )
        card.ready = fnv1.READY_TRUE if is_posted(req) else fnv1.READY_FALSE
        schema = request.get_required_schema(req, "card") or {}
        data_type = schema.get("properties", {}).get("data", {}).get("type", "unknown")
        resource.update_status(rsp.desired.composite, {"trail": trail, "news": NEWS.read_text(), "dataType": data_type})
        set_condition(rsp, fnv1.STATUS_CONDITION_TRUE, "Found", "")
        response.normal(rsp, f"wrote a card to {data['to']}")
        return rsp


def refuse(rsp):
    rsp.conditions.append(
        fnv1.Condition(
            type="Written",
            status=fnv1.STATUS_CONDITION_FALSE,
            reason="NoText",
            message="Write something.",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )
    rsp.results.append(
        fnv1.Result(
            severity=fnv1.SEVERITY_FATAL,
            reason="NoText",
            message="a postcard needs a text",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )


def wait(rsp, name):
    rsp.desired.composite.ready = fnv1.READY_FALSE
    set_condition(rsp, fnv1.STATUS_CONDITION_FALSE, "Unknown", f"Recipient {name} not found.")
    rsp.results.append(
        fnv1.Result(
            severity=fnv1.SEVERITY_WARNING,
            reason="NoRecipient",
            message=f"there is no ConfigMap {name}",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )


def is_posted(req):
    card = resource.struct_to_dict(req.observed.resources["card"].resource) if "card" in req.observed.resources else {}
    return card.get("metadata", {}).get("annotations", {}).get("e2e.example.org/posted") == "yes"


def set_condition(rsp, status, reason, message):
    rsp.conditions.append(
        fnv1.Condition(
            type="Addressed",
            status=status,
            reason=reason,
            message=message,
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Postcard(), **options)


main()
