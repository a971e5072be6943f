# SPDX-License-Identifier: Apache-2.0
"""Deletes ConfigMaps (NAMESPACE/NAME) with the official Python client, each as a dry run first. Prints a line of JSON for each."""

import json
import sys

from kubernetes import client, config
from kubernetes.client.exceptions import ApiException


def delete(core, target, dry_run):
    namespace, name = target.split("/")
    options = {"dry_run": "All"} if dry_run else {}
    answer = {"object": target, "dryRun": dry_run, "code": 200, "reason": "", "message": ""}
    try:
        core.delete_namespaced_config_map(name, namespace, **options)
    except ApiException as error:
        status = json.loads(error.body)
        answer.update(code=status["code"], reason=status["reason"], message=status["message"])
        assert error.status == status["code"]
    return answer


def main():
    config.load_kube_config(sys.argv[1])
    core = client.CoreV1Api()
    for target in sys.argv[2:]:
        for dry_run in (True, False):
            print(json.dumps(delete(core, target, dry_run), ensure_ascii=False))


main()
