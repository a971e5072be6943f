# SPDX-License-Identifier: Apache-2.0
"""What users of the official Python client do, on the API server of a kubeconfig. Prints what it saw, line by line."""

import sys
import time

from kubernetes import client, config, dynamic, utils, watch
from kubernetes.client.exceptions import ApiException
from kubernetes.dynamic.exceptions import ResourceNotFoundError

NAMESPACE = "python"
GROUP = "snakes.example.org"


def definition():
    spec = {"type": "object", "properties": {"length": {"type": "integer", "minimum": 1, "default": 3}}}
    status = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"snakes.{GROUP}"},
        "spec": {
            "group": GROUP,
            "scope": "Namespaced",
            "names": {"plural": "snakes", "singular": "snake", "kind": "Snake", "listKind": "SnakeList"},
            "versions": [
                {
                    "name": "v1",
                    "served": True,
                    "storage": True,
                    "subresources": {"status": {}, "scale": {"specReplicasPath": ".spec.length", "statusReplicasPath": ".status.length"}},
                    "schema": {"openAPIV3Schema": {"type": "object", "properties": {"spec": spec, "status": status}}},
                }
            ],
        },
    }


def config_map(name, data=None, labels=None):
    return {
        "apiVersion": "v1",
        "kind": "ConfigMap",
        "metadata": {"name": name, "labels": labels or {}},
        "data": data or {},
    }


def refused(call):
    """How a call was refused: the status code, the reason and the message of the server."""
    try:
        call()
    except ApiException as error:
        body = error.body.decode() if isinstance(error.body, bytes) else error.body
        return error.status, error.reason, body
    raise AssertionError("expected a refusal")


def objects(dyn):
    maps = dyn.resources.get(api_version="v1", kind="ConfigMap")
    made = maps.create(body=config_map("a", {"x": "1"}, {"app": "web"}), namespace=NAMESPACE)
    print("created", made.kind, made.metadata.name, made.data.to_dict())
    print("taken", refused(lambda: maps.create(body=config_map("a"), namespace=NAMESPACE)))
    print("absent", refused(lambda: maps.get(name="none", namespace=NAMESPACE)))
    merged = maps.patch(body={"data": {"y": "2"}}, name="a", namespace=NAMESPACE, content_type="application/merge-patch+json")
    print("merged", sorted(merged.data.to_dict().items()))
    operations = [{"op": "remove", "path": "/data/x"}]
    patched = maps.patch(body=operations, name="a", namespace=NAMESPACE, content_type="application/json-patch+json")
    print("patched", sorted(patched.data.to_dict().items()))
    strategic = maps.patch(body={"data": {"z": "3"}}, name="a", namespace=NAMESPACE)
    print("strategic", sorted(strategic.data.to_dict().items()))
    stale = made.to_dict()
    code, reason, _ = refused(lambda: maps.replace(body=stale, namespace=NAMESPACE))
    print("stale", code, reason)
    applied = maps.server_side_apply(body=config_map("b", {"x": "1"}, {"app": "db"}), namespace=NAMESPACE, field_manager="one")
    print("applied", [(one.manager, one.operation) for one in applied.metadata.managedFields])
    other = config_map("b", {"x": "2"})
    code, reason, _ = refused(lambda: maps.server_side_apply(body=other, namespace=NAMESPACE, field_manager="two"))
    print("conflict", code, reason)
    forced = maps.server_side_apply(body=other, namespace=NAMESPACE, field_manager="two", force_conflicts=True)
    print("forced", forced.data.to_dict())
    print("selected", [one.metadata.name for one in maps.get(namespace=NAMESPACE, label_selector="app in (web)").items])
    first = maps.get(namespace=NAMESPACE, label_selector="app", limit=1)
    rest = maps.get(namespace=NAMESPACE, label_selector="app", limit=1, _continue=first.metadata["continue"])
    print("pages", [one.metadata.name for one in [*first.items, *rest.items]])
    print("kind", first.kind, first.items[0].kind)


def watches(dyn):
    maps = dyn.resources.get(api_version="v1", kind="ConfigMap")
    version = maps.get(namespace=NAMESPACE).metadata.resourceVersion
    maps.create(body=config_map("w", {"x": "1"}), namespace=NAMESPACE)
    maps.patch(body={"data": {"x": "2"}}, name="w", namespace=NAMESPACE)
    print("deleted", maps.delete(name="w", namespace=NAMESPACE, body={}).status)
    watcher = watch.Watch()
    for event in maps.watch(namespace=NAMESPACE, resource_version=version, timeout=60, watcher=watcher):
        print("event", event["type"], event["object"].metadata.name, event["object"].data.to_dict())
        if event["type"] == "DELETED":
            watcher.stop()
    core = client.CoreV1Api(dyn.client)
    typed = watch.Watch()
    for event in typed.stream(core.list_namespaced_config_map, NAMESPACE, label_selector="app", timeout_seconds=60):
        print("typed event", event["type"], event["object"].metadata.name)
        if event["object"].metadata.name == "b":
            typed.stop()


def served(dyn, api_version, kind):
    """A kind that was just established: the server may list it a moment later."""
    deadline = time.monotonic() + 60
    while True:
        try:
            return dyn.resources.get(api_version=api_version, kind=kind)
        except ResourceNotFoundError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.1)


def custom(dyn):
    try:
        dyn.resources.get(api_version=f"{GROUP}/v1", kind="Snake")
    except ResourceNotFoundError:
        print("not served yet")
    crds = dyn.resources.get(api_version="apiextensions.k8s.io/v1", kind="CustomResourceDefinition")
    crds.create(body=definition())
    watcher = watch.Watch()
    for event in crds.watch(name=f"snakes.{GROUP}", timeout=60, watcher=watcher):
        conditions = event["object"].to_dict().get("status", {}).get("conditions") or []
        if any(one["type"] == "Established" and one["status"] == "True" for one in conditions):
            watcher.stop()
    snakes = served(dyn, f"{GROUP}/v1", "Snake")
    body = {"apiVersion": f"{GROUP}/v1", "kind": "Snake", "metadata": {"name": "adder"}, "spec": {}}
    made = snakes.create(body=body, namespace=NAMESPACE)
    print("defaulted", made.spec.length, made.metadata.generation)
    bad = {**body, "metadata": {"name": "bad"}, "spec": {"length": 0}}
    print("invalid", refused(lambda: snakes.create(body=bad, namespace=NAMESPACE))[:2])
    status = {**made.to_dict(), "status": {"length": 2}}
    print("status", snakes.status.replace(body=status, namespace=NAMESPACE).status.length)
    api = client.CustomObjectsApi(dyn.client)
    scale = api.patch_namespaced_custom_object_scale(GROUP, "v1", NAMESPACE, "snakes", "adder", {"spec": {"replicas": 7}})
    print("scale", scale["kind"], scale["spec"], scale["status"])
    items = api.list_namespaced_custom_object(GROUP, "v1", NAMESPACE, "snakes")["items"]
    print("listed", [(one["metadata"]["name"], one["spec"]) for one in items])
    snakes.delete(name="adder", namespace=NAMESPACE, body={"propagationPolicy": "Foreground"})
    crds.delete(name=f"snakes.{GROUP}", body={})


def typed(api):
    core, apps = client.CoreV1Api(api), client.AppsV1Api(api)
    secret = client.V1Secret(metadata=client.V1ObjectMeta(name="s"), string_data={"k": "v"})
    print("secret", core.create_namespaced_secret(NAMESPACE, secret).data)
    manifest = {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": "web", "namespace": NAMESPACE},
        "spec": {
            "selector": {"matchLabels": {"app": "web"}},
            "template": {"metadata": {"labels": {"app": "web"}}, "spec": {"containers": [{"name": "c", "image": "c:1"}]}},
        },
    }
    utils.create_from_dict(api, manifest)
    scale = apps.patch_namespaced_deployment_scale("web", NAMESPACE, {"spec": {"replicas": 3}})
    print("deployment scale", scale.spec.replicas)
    print("deployment", apps.read_namespaced_deployment("web", NAMESPACE).spec.strategy.type)
    rules = client.V1SelfSubjectAccessReview(
        spec=client.V1SelfSubjectAccessReviewSpec(resource_attributes=client.V1ResourceAttributes(verb="get", resource="pods"))
    )
    print("allowed", client.AuthorizationV1Api(api).create_self_subject_access_review(rules).status.allowed)
    core.delete_collection_namespaced_config_map(NAMESPACE, label_selector="app")
    print("left", [one.metadata.name for one in core.list_namespaced_config_map(NAMESPACE, label_selector="app").items])
    print("major", client.VersionApi(api).get_code().major)
    names = sorted(group.name for group in client.ApisApi(api).get_api_versions().groups)
    print("groups", [name for name in names if name in ("apps", "batch", "coordination.k8s.io", "rbac.authorization.k8s.io")])


def main(kubeconfig, cache):
    api = config.new_client_from_config(config_file=kubeconfig)
    dyn = dynamic.DynamicClient(api, cache_file=cache)
    dyn.resources.get(api_version="v1", kind="Namespace").create(body={"metadata": {"name": NAMESPACE}})
    objects(dyn)
    watches(dyn)
    custom(dyn)
    typed(api)


if __name__ == "__main__":
    main(*sys.argv[1:])
