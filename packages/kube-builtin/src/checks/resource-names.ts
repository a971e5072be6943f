// SPDX-License-Identifier: Apache-2.0
// The names of resources and the amounts that they can have.
import { memoize } from "@purlin/base";
import { listAt } from "@purlin/kube-apiserver/kinds";
import { type FieldError, type FieldPath, invalidValue, keyPath, unsupportedValue } from "@purlin/kube-objects/errors";
import { goQuote, isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import { labelKeyProblems } from "@purlin/kube-objects/metadata";
import { memberAt, stringAt } from "@purlin/kube-objects/object";
import { canonicalQuantity, compareQuantities, quantityNanos, quantityText } from "@purlin/kube-objects/typed";

const counted = [
  ...["pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps"],
  ...["persistentvolumeclaims", "services.nodeports", "services.loadbalancers"],
];
const computed = ["cpu", "memory", "ephemeral-storage"];
const quotaNames: ReadonlySet<string> = new Set([
  ...computed,
  ...computed.flatMap((name) => [`requests.${name}`, `limits.${name}`]),
  "requests.storage",
  ...counted,
]);

export const isHugePages = (name: string): boolean => name.startsWith("hugepages-");
const isQuotaHugePages = (name: string): boolean => isHugePages(name) || name.startsWith("requests.hugepages-");

/** Whether a resource is one of Kubernetes itself. */
export const isNative = (name: string): boolean => !name.includes("/") || name.includes("kubernetes.io/");

/** Whether a resource is one that devices offer. */
export function isExtended(name: string): boolean {
  return !isNative(name) && !name.startsWith("requests.") && labelKeyProblems(`requests.${name}`).length === 0;
}

/** Whether quotas know a resource by its name alone. */
export const isQuotaName = (name: string): boolean => quotaNames.has(name) || isQuotaHugePages(name);

/** The errors of the name of a resource. */
export function resourceNameErrors(name: string, path: string): FieldError[] {
  const found = labelKeyProblems(name).map((problem) => invalidValue(path, name, problem));
  if (found.length > 0 || name.includes("/") || name === "storage" || isQuotaName(name)) return found;
  return [invalidValue(path, name, "must be a standard resource type or fully qualified")];
}

/** The errors of the name of a resource that containers use. */
export function containerResourceErrors(name: string, path: string): FieldError[] {
  const found = resourceNameErrors(name, path);
  if (name.split("/").length === 1) {
    const isKnown = computed.includes(name) || isHugePages(name);
    return isKnown ? found : [...found, invalidValue(path, name, "must be a standard resource for containers")];
  }
  return isNative(name) || isExtended(name)
    ? found
    : [...found, invalidValue(path, name, "doesn't follow extended resource name standard")];
}

const milli = 1_000_000n;

/** The errors of the amount of a resource: never negative, and whole where the resource is counted. */
export function amountErrors(name: string, amount: string, path: string): FieldError[] {
  // Most amounts, and a map may have very many: digits are neither negative nor a fraction.
  if (/^\d{1,15}$/.test(amount)) return [];
  const isCounted = counted.includes(name) || isExtended(name);
  const nanos = quantityNanos(amount);
  const thousandths = (nanos + (nanos > 0n ? milli - 1n : 0n)) / milli;
  return [
    ...(nanos < 0n ? [invalidValue(path, amount, "must be greater than or equal to 0")] : []),
    ...(isCounted && thousandths % 1000n !== 0n ? [invalidValue(path, amount, "must be an integer")] : []),
  ];
}

const unit = 1_000_000_000n;

/** An amount in whole units, rounded up away from zero. */
const wholeUnits = (nanos: bigint): bigint => (nanos + (nanos > 0n ? unit - 1n : nanos < 0n ? 1n - unit : 0n)) / unit;

/** Huge pages are used as a whole. */
export function hugePageErrors(name: string, amount: string, path: string): FieldError[] {
  if (!isHugePages(name)) return [];
  const size = canonicalQuantity(name.slice("hugepages-".length));
  const [value, page] = [wholeUnits(quantityNanos(amount)), size === undefined ? 0n : quantityNanos(size)];
  const isWhole = page > 0n && page % unit === 0n && value % (page / unit) === 0n;
  const shown = canonicalQuantity(amount) ?? amount;
  return isWhole ? [] : [invalidValue(path, amount, `${shown} is not positive integer multiple of ${name}`)];
}

const podResources = ["cpu", "hugepages-", "memory"];

/** The errors of the name of a resource that a whole Pod asks for. */
export function podResourceErrors(name: string, path: string): FieldError[] {
  const found = resourceNameErrors(name, path);
  if (found.length > 0 || podResources.includes(name) || isHugePages(name)) return found;
  return [unsupportedValue(path, name, podResources)];
}

/** Quantities by the name of their resource, as text. */
export type Amounts = Readonly<Record<string, string>>;

/** The quantities in a member of an object. */
export function amountsAt(object: JsonObject, path: readonly string[]): Amounts {
  const member = memberAt(object, path);
  return isJsonObject(member) ? asTexts(member) : noAmounts;
}

const noAmounts: Amounts = Object.freeze({});

/** Quantities that were decoded are texts; several rules ask for those of one member, which may be very many. */
const asTexts = memoize((member: JsonObject): Amounts => {
  if (Object.keys(member).every((name) => typeof member[name] === "string")) return member as Amounts;
  return Object.fromEntries(Object.entries(member).map(([name, value]) => [name, String(value)]));
});

/** The sums of two lists of amounts. */
export function added(one: Amounts, other: Amounts): Amounts {
  if (one === noAmounts) return other;
  if (other === noAmounts) return one;
  const sums = Object.entries(other).map(([name, value]) => {
    const known = Object.hasOwn(one, name) ? one[name] : undefined;
    return [name, known === undefined ? value : quantityText(quantityNanos(known) + quantityNanos(value), known)];
  });
  return { ...one, ...(Object.fromEntries(sums) as Amounts) };
}

/** The larger amount of each resource in two lists. */
export function largest(one: Amounts, other: Amounts): Amounts {
  if (one === noAmounts) return other;
  if (other === noAmounts) return one;
  const larger = Object.entries(other).filter(([name, value]) => {
    const known = Object.hasOwn(one, name) ? one[name] : undefined;
    return known === undefined || compareQuantities(value, known) > 0;
  });
  return { ...one, ...Object.fromEntries(larger) };
}

/** A sum of amounts in the format of the first of them. The value is known once there are several. */
interface Sum {
  readonly first: string;
  nanos?: bigint;
}

/** Sums by the name of their resource. A Pod may have very many amounts: each is added in place. */
type Sums = Map<string, Sum>;

const nanosOf = (sum: Sum): bigint => sum.nanos ?? quantityNanos(sum.first);

function addTo(sums: Sums, amounts: Amounts): void {
  for (const [name, value] of Object.entries(amounts)) {
    const sum = sums.get(name);
    if (sum === undefined) sums.set(name, { first: value });
    else sum.nanos = nanosOf(sum) + quantityNanos(value);
  }
}

function raiseTo(most: Sums, name: string, sum: Sum): void {
  const known = most.get(name);
  if (known === undefined || nanosOf(sum) > nanosOf(known)) most.set(name, { ...sum });
}

interface InitContainer {
  readonly own: Amounts;
  /** Whether it keeps running beside the containers. */
  readonly isSidecar: boolean;
}

/** What init containers need while they run, one after the other, each with the sidecars before it. */
function initAmounts(containers: readonly InitContainer[]): Sums {
  const sidecars: Sums = new Map();
  const most: Sums = new Map();
  for (const { own, isSidecar } of containers) {
    if (isSidecar) addTo(sidecars, own);
    // Resources that it does not name need what the sidecars need, which is counted already.
    for (const [name, first] of Object.entries(own)) {
      const running = sidecars.get(name);
      if (running === undefined) raiseTo(most, name, { first });
      else raiseTo(most, name, isSidecar ? running : { first, nanos: quantityNanos(first) + nanosOf(running) });
    }
  }
  return most;
}

/**
 * What the containers of a Pod request together, or their limits: the sum of the containers, and at least what the init containers need
 * while they run. Init containers that keep running count with the containers.
 */
export function containerAmounts(spec: JsonObject, member: "requests" | "limits"): Amounts {
  const total: Sums = new Map();
  const initial = listAt(spec, "initContainers").map((container) => ({
    own: amountsAt(container, ["resources", member]),
    isSidecar: stringAt(container, ["restartPolicy"]) === "Always",
  }));
  for (const container of listAt(spec, "containers")) addTo(total, amountsAt(container, ["resources", member]));
  for (const { own } of initial.filter(({ isSidecar }) => isSidecar)) addTo(total, own);
  for (const [name, sum] of initAmounts(initial)) raiseTo(total, name, sum);
  return Object.fromEntries(Array.from(total, ([name, sum]) => [name, textOf(sum)]));
}

const textOf = ({ first, nanos }: Sum): string => (nanos === undefined ? first : quantityText(nanos, first));

const nanosOfMilli = 1_000_000n;

function thousandths(amount: string): bigint {
  const nanos = quantityNanos(amount);
  const rest = nanos % nanosOfMilli;
  return nanos / nanosOfMilli + (rest > 0n ? 1n : rest < 0n ? -1n : 0n);
}

/** A warning where an amount of bytes is not whole. */
export function* fractionOfBytes(
  resources: JsonObject,
  { member, name, path }: { readonly member: string; readonly name: string; readonly path: FieldPath },
): Generator<string> {
  const amount = stringAt(resources, [member, name]);
  // Amounts are stored in the largest unit that leaves no fraction, and count in thousandths, rounded away from zero.
  if (/[mun]$/.test(amount) && thousandths(amount) % 1000n !== 0n) {
    yield `${keyPath(`${path}.${member}`, name)}: fractional byte value ${goQuote(amount)} is invalid, must be an integer`;
  }
}
