# SPDX-License-Identifier: Apache-2.0
"""The official Python client: CRUD by its dynamic client, a watch, and what it does when its version is too old.

Arguments: kubeconfig, namespace, API version of the widgets, an old version.
"""
import json
import sys

from kubernetes import client, config, dynamic, watch
from kubernetes.client.exceptions import ApiException

file, namespace, api_version, old_version = sys.argv[1:]
config.load_kube_config(file)
api = dynamic.DynamicClient(client.ApiClient())
found = {}

config_maps = api.resources.get(api_version="v1", kind="ConfigMap")
widgets = api.resources.get(api_version=api_version, kind="Widget")


def crud():
    created = config_maps.create(body={"metadata": {"name": "python"}, "data": {"a": "1"}}, namespace=namespace)
    created.data.b = "2"
    replaced = config_maps.replace(body=created.to_dict(), namespace=namespace)
    merge = {"content_type": "application/merge-patch+json", "namespace": namespace}
    patched = config_maps.patch(body={"metadata": {"name": "python"}, "data": {"c": "3", "a": None}}, **merge)
    body = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "python"}, "data": {"d": "4"}}
    applied = config_maps.server_side_apply(body=body, namespace=namespace, field_manager="python")
    listed = config_maps.get(namespace=namespace, field_selector="metadata.name=python")
    deleted = config_maps.delete(name="python", namespace=namespace)
    found["crud"] = {
        "replaced": replaced.data.to_dict(),
        "patched": patched.data.to_dict(),
        "applied": applied.data.to_dict(),
        "listed": len(listed.items),
        "deleted": deleted.status,
    }
    try:
        config_maps.get(name="python", namespace=namespace)
    except ApiException as error:
        found["missing"] = [error.status, json.loads(error.body)["reason"]]


def follow():
    """Watches from a version that is forgotten, lists again, and continues from there."""
    try:
        events = [event["type"] for event in widgets.watch(namespace=namespace, resource_version=old_version, timeout=60)]
        found["old"] = events
    except ApiException as error:
        found["old"] = error.status
    version = widgets.get(namespace=namespace).metadata.resourceVersion
    body = {"apiVersion": api_version, "kind": "Widget", "metadata": {"name": "python"}, "spec": {"size": 1}}
    widgets.create(body=body, namespace=namespace)
    patch = {"metadata": {"name": "python"}, "spec": {"size": 2}}
    widgets.patch(body=patch, namespace=namespace, content_type="application/merge-patch+json")
    widgets.delete(name="python", namespace=namespace)
    seen = []
    watcher = watch.Watch()
    for event in widgets.watch(namespace=namespace, resource_version=version, timeout=60, watcher=watcher):
        seen.append([event["type"], event["object"].metadata.name, event["object"].spec.size])
        if len(seen) == 3:
            watcher.stop()
    found["watch"] = seen


crud()
follow()
print(json.dumps(found, sort_keys=True))
