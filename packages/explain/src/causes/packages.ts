// SPDX-License-Identifier: Apache-2.0
// Packages, their revisions, and the programs that run them.
import { type Condition, conditionsOf, type KubeObject, labelOf, stringAt } from "@purlin/kube-objects/object";
import { condition, conditionEvidence, refOf, refText, unmet } from "../inspect/facts.ts";
import {
  found,
  type Inspection,
  messageContext,
  type Recognized,
  rule,
  type TextContext,
  type TextRule,
} from "../inspect/inspection.ts";
import type { Finding, NodeReport } from "../model/explanation.ts";
import { isSound, packageState } from "../state/object-state.ts";
import { podFinding } from "./composed.ts";
import { held, paused } from "./state.ts";

const packageGroup = "pkg.crossplane.io";
const packageLabel = "pkg.crossplane.io/package";
const lockRef = { apiVersion: "pkg.crossplane.io/v1beta1", kind: "Lock", name: "lock" } as const;

/** Whether a type is one of package revisions. */
export function isPackageRevision({
  apiVersion,
  kind,
}: {
  readonly apiVersion: string;
  readonly kind: string;
}): boolean {
  return (
    apiVersion.startsWith(`${packageGroup}/`) &&
    ["ConfigurationRevision", "FunctionRevision", "ProviderRevision"].includes(kind)
  );
}

/** E22: the signature. */
const signature = rule(/signature verification failed:? ?([\s\S]*)$/, ([, why = ""], context) =>
  found("E22", context, {
    sentence: `The signature of ${image(context.object)} is not verified: ${why}`,
    next: ["sign the image, or change the ImageConfig that requires the signature"],
  }),
);

/** E20: dependencies. */
const dependency = rule(
  /cannot resolve package dependencies:? ?([\s\S]*)$|missing dependencies: ([\s\S]*)$|incompatible dependencies: ([\s\S]*)$/,
  async (match, context) => {
    const lock = await context.inspection.reader.find(lockRef);
    const resolved = lock && unmet(lock, "Resolved");
    const own = match[1] ?? match[0];
    const why = resolved?.message ?? own;
    return found("E20", context, {
      sentence: `The dependencies of ${refText(refOf(context.object))} cannot be resolved: ${why}`,
      evidence: lock && resolved ? [conditionEvidence(lock, resolved)] : [],
      next: ["change one of the constraints, or install the missing package"],
    });
  },
);

/** E19: the version of Crossplane. */
const version = rule(
  /incompatible Crossplane version: package is not compatible with Crossplane version \(([^)]*)\); required: ([\s\S]*)$|incompatible Crossplane version:? ?([\s\S]*)$/,
  ([, own, wanted, why], context) =>
    found("E19", context, {
      sentence: `${refText(refOf(context.object))} ${wanted === undefined ? `is incompatible: ${why ?? ""}` : `requires Crossplane ${wanted}; this is ${own ?? ""}`}`,
      next: ["install another version of the package, or set spec.ignoreCrossplaneConstraints: true"],
    }),
);

/** E21: an object of another package. */
const objectConflict = rule(
  /(\S+) is already controlled by (\S+) (\S+)/,
  ([, object = "", kind = "", name = ""], context) =>
    found("E21", context, {
      sentence: `${object} belongs to ${kind} ${name}, so ${refText(refOf(context.object))} cannot install it`,
      next: [`remove ${kind} ${name} or this package`],
    }),
);

/** E18: the content. */
const invalidPackage = rule(
  /validating package contents failed:? ?([\s\S]*)$|the package is a \w+, not a \w+|cannot (?:parse|lint) package/,
  ([text, why], context) => {
    const [, is, not = ""] = /the package is a (\w+), not a (\w+)/.exec(context.text) ?? [];
    return found("E18", context, {
      sentence:
        is === undefined
          ? `The package of ${refText(refOf(context.object))} is invalid: ${why || text}`
          : `${image(context.object)} is a ${is}, and is installed as a ${not}`,
      next: [
        is === undefined
          ? "publish a corrected package"
          : `purlin xpkg install ${is.toLowerCase()} ${image(context.object)}`,
      ],
    });
  },
);

/** E17: the pull, by what the registry said. */
const pull = rule(
  /cannot unpack package|cannot get package|cannot resolve|failed to fetch|cannot reach|GET https?:/,
  (_, context) => {
    const { text, object } = context;
    return found("E17", context, {
      path: "spec.package",
      sentence: `${image(object)} cannot be pulled: ${pullProblem(text)}`,
      next: [pullAdvice(text, object)],
    });
  },
);

function pullProblem(text: string): string {
  return text.replace(/^(cannot unpack package|cannot get package): /, "");
}

function pullAdvice(text: string, object: KubeObject): string {
  if (/unauthori[sz]ed|denied|\b40[13]\b/i.test(text))
    return "check the pull secret in spec.packagePullSecrets, or the ImageConfig";
  if (/not found|MANIFEST_UNKNOWN|NAME_UNKNOWN|\b404\b/i.test(text))
    return `correct spec.package; purlin xpkg inspect ${image(object)} shows whether a tag exists`;
  if (/x509|certificate/i.test(text)) return "add the CA of the registry to the control plane";
  return "check that the registry can be reached from the control plane";
}

function image(object: KubeObject): string {
  return stringAt(object, ["spec", "package"]) || stringAt(object, ["spec", "image"]) || refText(refOf(object));
}

/** Recognizes what fails in a package or its revision. */
const packageRules: readonly TextRule[] = [signature, dependency, version, objectConflict, invalidPackage, pull];

/** The state of a package. */
export async function packageReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const own = paused(object) ?? held(object);
  if (own !== undefined) return { findings: [own] };
  const installed = unmet(object, "Installed");
  if (installed?.reason === "UnpackingPackage") return fromText(object, installed, inspection);
  const revision = await currentRevision(object, inspection);
  if (revision === undefined)
    return installed === undefined ? healthyOrUnknown(object) : fromText(object, installed, inspection);
  const healthy = unmet(object, "Healthy");
  if (healthy === undefined && installed === undefined) return {};
  if (installed?.reason === "InactivePackageRevision") return { findings: [inactive(object, installed)] };
  const bad = healthy ?? installed;
  const fallback = bad === undefined ? undefined : await recognize(object, bad, inspection);
  const finding: Finding | undefined = fallback;
  if (finding === undefined || bad === undefined)
    return { edges: [{ to: refOf(revision) }], ...(bad && { unknown: [conditionEvidence(object, bad)] }) };
  return { findings: [{ ...finding, waitsFor: [{ to: refOf(revision) }] }] };
}

function healthyOrUnknown(object: KubeObject): NodeReport {
  const bad = unmet(object, "Healthy");
  if (bad === undefined) return {};
  if (bad.reason === "SourceFailed") return { findings: [crash(object, bad)] };
  return { unknown: [conditionEvidence(object, bad)] };
}

function inactive(object: KubeObject, bad: Condition): Finding {
  const revision = stringAt(object, ["status", "currentRevision"]);
  return found(
    "E12",
    { object, condition: bad, evidence: [conditionEvidence(object, bad)] },
    {
      sentence: `${refText(refOf(object))} has no active revision`,
      next: [
        `purlin patch ${object.kind.toLowerCase()}revision ${revision || "REVISION"} '{"spec":{"desiredState":"Active"}}'`,
      ],
    },
  );
}

async function currentRevision(object: KubeObject, { reader }: Inspection): Promise<KubeObject | undefined> {
  const name = stringAt(object, ["status", "currentRevision"]);
  const type = { apiVersion: object.apiVersion, kind: `${object.kind}Revision` };
  if (name !== "") return reader.find({ ...type, name });
  const all = (await reader.list(type, { labelSelector: `${packageLabel}=${object.metadata.name ?? ""}` })) ?? [];
  return all.find((one) => stringAt(one, ["spec", "desiredState"]) === "Active") ?? all[0];
}

/** The state of a package revision: its content, then its runtime. */
export async function revisionReport(object: KubeObject, inspection: Inspection): Promise<NodeReport> {
  const pause = paused(object);
  if (pause !== undefined) return { findings: [pause] };
  const content =
    unmet(object, "RevisionHealthy") ?? (condition(object, "RuntimeHealthy") ? undefined : unmet(object, "Healthy"));
  if (content !== undefined) return fromText(object, content, inspection);
  const runtime = unmet(object, "RuntimeHealthy");
  if (runtime === undefined || stringAt(object, ["spec", "desiredState"]) !== "Active") return {};
  const pod = podFinding(await podsOf(object, inspection));
  if (pod !== undefined) return { findings: [pod] };
  if (/is starting|has no condition of type "Available" yet/.test(runtime.message ?? "")) {
    return {
      waiting: [{ since: runtime.lastTransitionTime, text: `its runtime is starting: ${runtime.message ?? ""}` }],
    };
  }
  return { findings: [crash(object, runtime)] };
}

async function podsOf(revision: KubeObject, { reader, systemNamespace }: Inspection): Promise<readonly KubeObject[]> {
  const labelSelector = `pkg.crossplane.io/revision=${revision.metadata.name ?? ""}`;
  return (await reader.list({ apiVersion: "v1", kind: "Pod" }, { namespace: systemNamespace, labelSelector })) ?? [];
}

/** E15: the program of a revision ends. */
function crash(object: KubeObject, bad: Condition): Finding {
  const name = labelOf(object, packageLabel) ?? object.metadata.name ?? "";
  return found(
    "E15",
    { object, condition: bad, evidence: [conditionEvidence(object, bad)] },
    {
      sentence: `${object.kind.replace("Revision", "")} ${name} does not run: ${bad.message ?? bad.reason}`,
      next: [`purlin logs ${name}`],
    },
  );
}

async function fromText(object: KubeObject, bad: Condition, inspection: Inspection): Promise<NodeReport> {
  const finding = await recognize(object, bad, inspection);
  return finding === undefined ? { unknown: [conditionEvidence(object, bad)] } : { findings: [finding] };
}

async function recognize(object: KubeObject, bad: Condition, inspection: Inspection): Promise<Finding | undefined> {
  const context: TextContext = messageContext(object, bad, inspection);
  for (const one of packageRules) {
    const recognized: Recognized = await one(context);
    if (recognized !== undefined && "code" in recognized) return recognized;
  }
  return undefined;
}

/** Whether a package reports that it is healthy. A Function that another program serves reports nothing. */
export function isHealthyPackage(object: KubeObject): boolean {
  return conditionsOf(object).length === 0 || isSound(packageState(object));
}
