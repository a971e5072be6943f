// SPDX-License-Identifier: Apache-2.0
// Where the embedded server knowingly answers otherwise. docs/reference/compatibility.md lists the same for users.
import type { Loose } from "../harness/loose.ts";
import type { Finding } from "./run.ts";

/** A part of some kinds that is not compared. */
interface KnownGap {
  /** The title of the requests, such as `POST v1 Pod`. */
  readonly request: RegExp;
  /** Fields of causes, or paths in the answer. */
  readonly path: RegExp;
  readonly reason: string;
}

const gaps: readonly KnownGap[] = [
  {
    request: /(PersistentVolume|PersistentVolumeClaim|VolumeAttributesClass)$/,
    path: /^\.body\.metadata\.(finalizers|managedFields)/,
    reason: "no finalizer protects volumes and claims in use",
  },
  { request: /AdmissionPolicy(Binding)?$/, path: /./, reason: "policies are validated in part" },
  { request: /ResourceQuota$/, path: /status/, reason: "the status is computed when it is read" },
  { request: /autoscaling\/v1/, path: /managedFields/, reason: "owners of fields are not converted between versions" },
];

/** The findings that no known gap explains, with the differences that are not explained. */
export function unexplained(findings: readonly Finding[]): Finding[] {
  return findings.flatMap((finding) => {
    const own = gaps.filter(({ request }) => request.test(finding.title));
    const isGap = (place: string): boolean => own.some(({ path }) => path.test(place));
    const oneSided = oneSidedFields(finding.ours, finding.theirs);
    if (oneSided.length > 0) return oneSided.every(isGap) ? [] : [finding];
    const differences = finding.differences.filter(({ path }) => !isGap(path));
    return differences.length === 0 ? [] : [{ ...finding, differences }];
  });
}

/** The fields of the causes that only one of the servers reports. */
function oneSidedFields(ours: Loose, theirs: Loose): string[] {
  const [mine, other] = [causesOf(ours), causesOf(theirs)];
  return [...mine].filter((one) => !other.has(one)).concat([...other].filter((one) => !mine.has(one)));
}

function causesOf({ body }: Loose): Set<string> {
  const causes: readonly Loose[] = body?.details?.causes ?? [];
  return new Set(causes.map(({ field, message }) => `${field}: ${message}`));
}
