// SPDX-License-Identifier: Apache-2.0

import { withoutSecrets } from "@purlin/explain";
import { isJsonArray, isJsonObject, type JsonObject, type JsonValue, printJson } from "@purlin/kube-objects/json";
import { type KubeObject, lastAppliedAnnotation } from "@purlin/kube-objects/object";
import { type Cluster, openCluster } from "../cluster/cluster-client.ts";
import { findTargets, namespaceFor, refuseSelectedNames } from "../cluster/find-resource.ts";
import { byTime, type ShownEvent, seenText, toShownEvent } from "../events/event-rows.ts";
import { fetchTarget, objectsOf } from "../get/selected-objects.ts";
import { harmless } from "../harmless.ts";
import type { Io } from "../io.ts";
import { type CommandInput, isSet, textOption } from "../options/command-spec.ts";
import { printData, readOutput } from "../options/data-output.ts";
import { formatTable } from "../terminal/screen.ts";

const acronyms = new Set(["API", "URL", "UID", "OSB", "GUID"]);

/** A line: a label with its value beside it, or a label alone. */
interface Line {
  readonly label: string;
  readonly value?: string | undefined;
}

const hiddenMetadata = new Set(["name", "namespace", "labels", "annotations", "managedFields"]);
/** An annotation that is longer stands on lines of its own. */
const maxAnnotation = 140;

/** An object for people, as `kubectl describe` shows custom objects, without its events. */
export function describeText(object: KubeObject): string {
  const { name = "", namespace = "", labels, annotations } = object.metadata;
  const shown = Object.entries(annotations ?? {}).filter(([key]) => key !== lastAppliedAnnotation);
  const content = { ...object, metadata: visibleMetadata(object) };
  const lines = [
    { label: "Name:", value: name },
    { label: "Namespace:", value: namespace },
    ...several(
      "Labels:",
      Object.entries(labels ?? {}).map(([key, value]) => `${key}=${value}`),
    ),
    ...several("Annotations:", shown.sort(byName).flatMap(annotationLines)),
    ...contentLines(content, ""),
  ];
  return aligned(lines);
}

function visibleMetadata({ metadata }: KubeObject): JsonObject {
  return Object.fromEntries(Object.entries(metadata).filter(([name]) => !hiddenMetadata.has(name))) as JsonObject;
}

const byName = ([a]: readonly [string, unknown], [b]: readonly [string, unknown]): number => (a < b ? -1 : 1);

function several(label: string, values: readonly string[]): Line[] {
  if (values.length === 0) return [{ label, value: "<none>" }];
  const sorted = label === "Labels:" ? values.toSorted() : values;
  return sorted.map((value, index) => ({ label: index === 0 ? label : "", value }));
}

function annotationLines([key, value]: [string, unknown]): string[] {
  const text = String(value).replace(/\n$/, "");
  if (text.length + key.length + 2 <= maxAnnotation && !text.includes("\n")) return [`${key}: ${text}`];
  return [
    `${key}:`,
    ...text.split("\n").map((line) => `  ${line.slice(0, maxAnnotation)}${line.length > maxAnnotation ? "..." : ""}`),
  ];
}

function contentLines(content: JsonObject, indent: string): Line[] {
  return Object.entries(content)
    .sort(byName)
    .flatMap(([name, value]) => fieldLines(`${indent}${fieldLabel(name)}:`, value as JsonValue, indent));
}

function fieldLines(label: string, value: JsonValue, indent: string): Line[] {
  const inner = `${indent}  `;
  if (isJsonObject(value)) return [{ label }, ...contentLines(value, inner)];
  if (!isJsonArray(value)) return [{ label, value: valueText(value) }];
  const items = value.flatMap((item) =>
    isJsonObject(item) ? contentLines(item, inner) : [{ label: `${inner}${valueText(item)}` }],
  );
  return [{ label }, ...items];
}

function valueText(value: JsonValue): string {
  return value === null ? "<nil>" : typeof value === "object" ? printJson(value) : String(value);
}

/** Values of lines that follow each other stand below each other; a label alone begins again. */
function aligned(lines: readonly Line[]): string {
  const text: string[] = [];
  let block: Line[] = [];
  const endBlock = (): void => {
    const width = block.reduce((widest, { label }) => Math.max(widest, label.length), 0);
    text.push(...block.map(({ label, value }) => `${label.padEnd(width)}  ${value}`));
    block = [];
  };
  for (const line of lines) {
    if (line.value !== undefined) block.push(line);
    else {
      endBlock();
      text.push(line.label);
    }
  }
  endBlock();
  return `${text.map((line) => harmless(line)).join("\n")}\n`;
}

/** `observedGeneration` as `Observed Generation`, the way kubectl titles the fields of custom objects. */
function fieldLabel(field: string): string {
  // Names with digits, dots and slashes, such as keys of labels, stay as they are.
  if (/[^\p{L}-]/u.test(field)) return field;
  const words = field.match(/\p{Lu}+(?!\p{Ll})|\p{Lu}?\p{Ll}+|-+|\p{L}/gu) ?? [field];
  return words.map((word) => (acronyms.has(word.toUpperCase()) ? word.toUpperCase() : titled(word))).join(" ");
}

function titled(word: string): string {
  return word.charAt(0).toUpperCase() + word.slice(1);
}

/** `purlin describe TYPE [NAME…]` */
export async function run(input: CommandInput, io: Io): Promise<undefined> {
  const output = readOutput(input, ["text", "json", "yaml"]);
  refuseSelectedNames(input.args, textOption(input, "selector"));
  await using cluster = await openCluster(input, io);
  const targets = await findTargets(cluster.client, input.args, io.signal);
  const selection = {
    namespace: namespaceFor(targets, { isAll: isSet(input, "allNamespaces"), namespace: cluster.namespace }),
    labelSelector: textOption(input, "selector"),
  };
  const texts: string[] = [];
  const items: object[] = [];
  for (const target of targets) {
    const fetched = await fetchTarget(cluster, target, { selection, accept: "application/json", signal: io.signal });
    for (const object of objectsOf(fetched).map(withoutSecrets)) {
      const events = await eventsOf(cluster, object, io);
      if (output === "text") texts.push(`${describeText(object)}${eventsText(events)}`);
      else items.push({ object, events: events.map(eventDocument) });
    }
  }
  if (output !== "text") {
    const apiVersion = "cli.purlin.dev/v1";
    return printData({ apiVersion, kind: "DescriptionList", items }, output, io);
  }
  if (texts.length === 0) io.stderr.write("No resources found\n");
  io.stdout.write(texts.join("\n\n"));
}

async function eventsOf({ client }: Cluster, { metadata }: KubeObject, io: Io): Promise<readonly ShownEvent[]> {
  const { uid = "", namespace = "default" } = metadata;
  const fieldSelector = `involvedObject.uid=${uid}`;
  const { items } = await client.list(
    { apiVersion: "v1", kind: "Event" },
    { namespace, fieldSelector, signal: io.signal },
  );
  return items.map(toShownEvent).sort(byTime);
}

function eventDocument({ type, reason, message, source, count, first, last }: ShownEvent): object {
  // An event without a time has neither.
  const times = Number.isNaN(last) ? [] : [first, last].map((time) => new Date(time).toISOString());
  const [firstTime, lastTime] = times;
  return { type, reason, message, source, count, ...(times.length > 0 && { firstTime, lastTime }) };
}

function eventsText(events: readonly ShownEvent[]): string {
  if (events.length === 0) return "Events:  <none>\n";
  const now = Date.now();
  const rows = events.map((event) => [
    `  ${event.type}`,
    event.reason,
    seenText(event, now),
    event.source,
    event.message,
  ]);
  const title = ["  Type", "Reason", "Age", "From", "Message"];
  const rule = ["  ----", "------", "----", "----", "-------"];
  return `Events:\n${formatTable([title, rule, ...rows])}\n`;
}
