# SPDX-License-Identifier: Apache-2.0
"""The storefront function with the public Python SDK. storefront.ts and storefront.mjs do the same."""

import click
from crossplane.function import cli, request, resource, response
from crossplane.function.proto.v1 import run_function_pb2 as fnv1
from crossplane.function.proto.v1 import run_function_pb2_grpc as grpcv1
from google.protobuf import json_format

TRAIL = "interop.example.org/trail"


class Storefront(grpcv1.FunctionRunnerServiceServicer):
    async def RunFunction(self, req, context):
        rsp = response.to(req)
        step = resource.struct_to_dict(req.input)
        xr = resource.struct_to_dict(req.observed.composite.resource)
        leave_trail(req, rsp, step["step"])
        ask(req, rsp, step, xr)

        config = request.get_required_resource(req, "config")
        if config is None:
            report_missing(rsp, step, resolved="config" in req.required_resources)
            return rsp

        overrides = request.get_required_resource(req, "overrides") or {}
        image = overrides.get("data", {}).get("image", config["data"]["image"])
        replicas = int(xr["spec"]["replicas"])
        deployment = rsp.desired.resources["deployment"]
        resource.update(deployment, desired_deployment(image, replicas))
        available = resource.get_condition(req.observed.resources.get("deployment"), "Available")
        deployment.ready = fnv1.READY_TRUE if available.status == "True" else fnv1.READY_FALSE
        resource.update_status(rsp.desired.composite, status_of(req, image))
        add_condition(rsp, fnv1.STATUS_CONDITION_TRUE, "Found", f"using image {image}")
        rsp.results.append(
            fnv1.Result(
                severity=fnv1.SEVERITY_NORMAL,
                message=f"composed a Deployment with {replicas} replicas",
                reason="Composed",
                target=fnv1.TARGET_COMPOSITE,
            )
        )
        return rsp


def leave_trail(req, rsp, step):
    seen = json_format.MessageToDict(req.context).get(TRAIL, [])
    rsp.context[TRAIL] = [*seen, step]


def ask(req, rsp, step, xr):
    namespace = xr["metadata"]["namespace"]
    if request.has_capability(req, fnv1.CAPABILITY_REQUIRED_RESOURCES):
        response.require_resources(
            rsp, "config", "v1", "ConfigMap", match_name=step["config"], namespace=namespace
        )
        response.require_resources(
            rsp, "backends", "v1", "ConfigMap", match_labels={"tier": "backend"}, namespace=namespace
        )
        config = request.get_required_resource(req, "config")
        if config is not None and "overrides" in config["data"]:
            response.require_resources(
                rsp, "overrides", "v1", "ConfigMap", match_name=config["data"]["overrides"], namespace=namespace
            )
    if request.has_capability(req, fnv1.CAPABILITY_REQUIRED_SCHEMAS):
        response.require_schema(rsp, "deployment", "apps/v1", "Deployment")
        response.require_schema(rsp, "nothing", "example.org/v1", "Nothing")
    else:
        response.warning(rsp, "schemas are not supported by this control plane")


def report_missing(rsp, step, *, resolved):
    if not resolved:
        add_condition(rsp, fnv1.STATUS_CONDITION_UNKNOWN, "Waiting", "the ConfigMap is being looked up")
        return
    message = f'there is no ConfigMap "{step["config"]}"'
    add_condition(rsp, fnv1.STATUS_CONDITION_FALSE, "NotFound", message)
    rsp.results.append(
        fnv1.Result(
            severity=fnv1.SEVERITY_WARNING,
            message=message,
            reason="ConfigMissing",
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )


def desired_deployment(image, replicas):
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"labels": {"app": "storefront"}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": "storefront"}},
            "template": {
                "metadata": {"labels": {"app": "storefront"}},
                "spec": {"containers": [{"name": "web", "image": image}]},
            },
        },
    }


def status_of(req, image):
    schema = request.get_required_schema(req, "deployment")
    replicas = schema["properties"]["spec"]["properties"]["replicas"] if schema else {}
    asked_in_vain = "nothing" in req.required_schemas and request.get_required_schema(req, "nothing") is None
    return {
        "image": image,
        "capabilities": sorted(req.meta.capabilities),
        "replicasType": replicas.get("type", "unknown"),
        "nothing": "absent" if asked_in_vain else "unknown",
        "backends": [b["metadata"]["name"] for b in request.get_required_resources(req, "backends")],
        "registryUser": request.get_credentials(req, "registry").data.get("user", ""),
    }


def add_condition(rsp, status, reason, message):
    rsp.conditions.append(
        fnv1.Condition(
            type="ConfigReady",
            status=status,
            reason=reason,
            message=message,
            target=fnv1.TARGET_COMPOSITE_AND_CLAIM,
        )
    )


@click.command()
@cli.standard_options
def main(**options):
    cli.run(Storefront(), **options)


main()
