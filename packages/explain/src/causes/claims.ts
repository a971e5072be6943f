// SPDX-License-Identifier: Apache-2.0
// Claims, and the connection Secrets of claims and composite resources.
import { isControlledBy, type KubeObject, stringAt } from "@purlin/kube-objects/object";
import { ageMs, ago, condition, conditionEvidence, elapsed, isTrue, refOf, refText } from "../inspect/facts.ts";
import { found, type Inspection, rule, type TextRule } from "../inspect/inspection.ts";
import type { Finding } from "../model/explanation.ts";
import { reconcileCommand } from "./state.ts";

const lagMs = 10_000;
const secretType = { apiVersion: "v1", kind: "Secret" } as const;

/** E55: the composite resource is bound to another claim. */
const foreignComposite = rule(
  /refusing to operate on composite resource "([^"]*)" that is not bound to this claim: bound to claim ([\s\S]*)$|refusing to operate on composite resource/,
  ([, name = "", other = ""], context) =>
    found("E55", context, {
      path: "spec.resourceRef",
      sentence: `spec.resourceRef names composite resource ${name}, which is bound to claim ${other || "another claim"}`,
      next: ["correct spec.resourceRef, or remove it so that a new composite resource is created"],
    }),
);

/** E56: the connection Secret cannot be written. */
const connection = rule(
  /cannot (?:publish|propagate) connection details[^:]*: ([\s\S]*)$/,
  async ([, why = ""], context) => {
    const key = /Secret "([^"/]+)\/([^"]+)"/.exec(why);
    const { object, inspection } = context;
    if (key !== null) {
      const secret = await inspection.reader.find({ ...secretType, namespace: key[1] ?? "", name: key[2] ?? "" });
      if (secret !== undefined && isControlledBy(secret, object.metadata.uid ?? "")) {
        return { healed: `the connection Secret ${key[1]}/${key[2]} is not its own`, at: undefined };
      }
    }
    return found("E56", context, {
      path: "spec.writeConnectionSecretToRef",
      sentence: `The connection Secret cannot be written: ${why}`,
      next: ["use another name in writeConnectionSecretToRef, or delete the Secret"],
    });
  },
);

/** Recognizes what fails on a claim. */
export const claimRules: readonly TextRule[] = [foreignComposite, connection];

/** Recognizes what fails when connection details are published. */
export const connectionRule: TextRule = connection;

/** E54: the composite resource is ready, and its claim does not show it. */
export function claimOutOfDate(claim: KubeObject, xr: KubeObject, inspection: Inspection): Finding | undefined {
  const ready = condition(claim, "Ready");
  const source = condition(xr, "Ready");
  const { now } = inspection;
  if (ready?.status === "True" || !isTrue(xr, "Ready") || !isTrue(xr, "Synced")) return undefined;
  const since = elapsed(source?.lastTransitionTime, now) ?? ageMs(xr, now);
  if (since <= lagMs || stringAt(claim, ["metadata", "deletionTimestamp"]) !== "") return undefined;
  const evidence = [ready && conditionEvidence(claim, ready), source && conditionEvidence(xr, source)];
  return {
    code: "E54",
    object: refOf(claim),
    since: source?.lastTransitionTime,
    sentence: `${refText(refOf(xr))} became ready ${ago(source?.lastTransitionTime, now)}, and its claim does not show it`,
    evidence: evidence.filter((one) => one !== undefined),
    next: [reconcileCommand(claim)],
  };
}
