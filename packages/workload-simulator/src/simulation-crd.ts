// SPDX-License-Identifier: Apache-2.0
import { ageColumn, column, createCrd, free, type KindDocs, listOf, object, text } from "@purlin/kube-controller";
import type { JsonObject } from "@purlin/kube-objects/json";
import type { KubeObject } from "@purlin/kube-objects/object";

const docs: KindDocs = {
  about:
    "A Simulation says how simulated Pods behave: how long they take to become ready, and whether and how they fail. It applies to the Pods that it matches and that have no annotation simulation.purlin.dev. Of several Simulations that match a Pod, the first by name counts.",
  fields: {
    "spec.match": "Which Pods it is for. All conditions must hold; without any it is for every Pod.",
    "spec.match.images":
      "Patterns of image names, in which * stands for any characters. Only matching containers have the outcome.",
    "spec.match.namespaces": "Namespaces of the Pods.",
    "spec.match.podSelector": "Labels of the Pods, as a label selector.",
    "spec.readyAfter": "Time from the start of a container until it is ready, such as 5s.",
    "spec.outcome":
      'What becomes of the containers: Running, ImagePullBackOff, CrashLoopBackOff, OOMKilled, Pending, or "exit N" with an exit code.',
    "spec.outcomeAfter": "Time from the start of a container until it exits, such as 30s.",
  },
};

const duration: JsonObject = { ...text, maxLength: 32, pattern: "^([0-9]{1,9}(ms|s|m|h))+$" };
const outcome: JsonObject = {
  ...text,
  maxLength: 32,
  pattern: "^(Running|ImagePullBackOff|ErrImagePull|CrashLoopBackOff|OOMKilled|Pending|exit [0-9]{1,3})$",
};
const pattern: JsonObject = { ...text, minLength: 1, maxLength: 512 };

const spec: JsonObject = object({
  match: object({
    images: listOf(pattern, undefined, { maxItems: 64 }),
    namespaces: listOf(text, undefined, { maxItems: 64 }),
    podSelector: free,
  }),
  readyAfter: duration,
  outcome,
  outcomeAfter: duration,
});

/** The CRD of Simulation. */
export function simulationCrd(): KubeObject {
  const columns = [column("OUTCOME", ".spec.outcome"), column("READY-AFTER", ".spec.readyAfter"), ageColumn];
  return createCrd({
    group: "simulation.purlin.dev",
    kind: "Simulation",
    docs,
    plural: "simulations",
    versions: [{ name: "v1alpha1", fields: { "spec*": spec }, columns, hasStatus: false }],
  });
}
