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
  /** One of the servers reports it alone, so the other causes of the answer are not compared. */
  readonly isAlone?: boolean;
  /** What the message of the reference has to contain. */
  readonly theirs?: RegExp;
  readonly reason: string;
}

const gaps: readonly KnownGap[] = [
  {
    request: /v1 Service$/,
    path: /^spec\.(ports\[\d+\]\.nodePort: (.*provided port is not in the valid range|Duplicate value)|clusterIPs: .*failed to allocate IP)|HealthCheck NodePort \d+: provided port is not in/,
    isAlone: true,
    reason:
      "a dry run of the reference does not check the range of a port, and draws one twice; addresses lead nowhere here, so any is taken",
  },
  {
    request: /^PUT v1 Service$/,
    path: /^spec\.clusterIPs: Forbidden: may not be set for ExternalName services$/,
    isAlone: true,
    reason:
      "the reference stores an ExternalName with another clusterIP and no clusterIPs, and then refuses every change",
  },
  {
    request: /(WebhookConfiguration|NetworkPolicy)$/,
    path: /^\.body\.metadata\.generation$/,
    reason: "a list or map that is sent empty is stored as a missing one: such a write does not count as a change here",
  },
  {
    request: /(EndpointSlice|ResourceSlice)$/,
    path: /^\.body\.metadata\.generation$/,
    reason: "fields that are dropped, of disabled features and of older versions, do not count as a change here",
  },
  {
    request: /PersistentVolume$/,
    path: /^(spec\.persistentvolumesource: Forbidden|\.body\.)/,
    theirs: /^- +"VolumeAttributes":<empty>,?\n(?:.*\n)*?\+ +"VolumeAttributes":<empty>,?\n/m,
    reason: "the same for empty attributes of a volume",
  },
  {
    request: /PersistentVolumeClaim$/,
    path: /^(spec: Forbidden: spec is immutable after creation|\.body\.)/,
    theirs: /- {2}"Limits":<empty>,\n(?:.*\n)*?\+ {2}"Limits":<empty>,\n/,
    reason: "the same for empty limits: the reference prints them as a difference to missing ones, in the same words",
  },
  {
    request: /StatefulSet$/,
    path: /^spec\.template\.spec\.volumes\[\d+\]\.(name: (Required|Invalid) value|persistentVolumeClaim\.claimName: Required value)|^\.body\./,
    theirs: /spec\.template\.spec\.volumes\[\d+\]\.persistentVolumeClaim\.claimName: Required value/,
    reason: "the reference validates the volumes of claim templates in a random order, and numbers them by it",
  },
];

/** The findings that no known gap explains, with the differences that are not explained. */
export function unexplained(findings: readonly Finding[]): Finding[] {
  return findings.flatMap((finding) => {
    const own = gaps.filter(
      ({ request, theirs }) => request.test(finding.title) && (theirs?.test(finding.theirs?.body?.message) ?? true),
    );
    const isGap = (place: string): boolean => own.some(({ path }) => path.test(place));
    const oneSided = oneSidedFields(finding.ours, finding.theirs);
    if (own.some(({ path, isAlone }) => isAlone && oneSided.some((one) => path.test(one)))) return [];
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
