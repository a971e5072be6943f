// SPDX-License-Identifier: Apache-2.0
import type { Loose } from "../harness/loose.ts";
import type { Finding } from "./run.ts";

/** Findings by what differs, the most frequent first, each with one example, whose texts are cut at a length. */
export function describeFindings(findings: readonly Finding[], limit = 60, textLength = 400): string {
  const groups = Map.groupBy(findings, signature);
  const sorted = [...groups].toSorted(([, a], [, b]) => b.length - a.length);
  return sorted
    .slice(0, limit)
    .map(([text, members]) => describeGroup(text, members, textLength))
    .join("\n");
}

function describeGroup(text: string, members: readonly Finding[], textLength: number): string {
  const [example] = members as [Finding];
  const short = (value: unknown): string => shortened(value, textLength);
  const changes = example.mutations.map(({ path, value }) => `${path.join(".")} = ${short(value)}`).join("; ");
  const first = example.differences.find(({ path }) => path !== ".code") ?? example.differences[0];
  return `${members.length} × ${text}\n    request ${example.number}: ${changes}\n    ours:   ${short(first?.ours)}\n    theirs: ${short(first?.theirs)}`;
}

/** The kind, the verb, and the causes that only one of the servers reports, or else the first place that differs. */
function signature({ title, differences, ours, theirs }: Finding): string {
  const [mine, other] = [causes(ours), causes(theirs)];
  const missing = other.filter((one) => !mine.includes(one)).map((one) => `missing ${one}`);
  const extra = mine.filter((one) => !other.includes(one)).map((one) => `extra ${one}`);
  const [first] = [...missing, ...extra];
  const codes = ours.code === theirs.code ? "" : ` ${ours.code} instead of ${theirs.code}`;
  const path = (differences[0]?.path ?? "").replaceAll(/\[\d+\]/g, "[]");
  return `${title}${codes} ${first ?? path}`;
}

/** The causes of an answer, without the indexes and values that vary. */
function causes({ body, warning }: Loose): string[] {
  const listed: readonly Loose[] = body?.details?.causes ?? [];
  const texts = listed.map(({ field, message }) => `${field}: ${message}`);
  const message = body?.kind === "Status" ? [String(body.message)] : warning === undefined ? [] : [String(warning)];
  return (texts.length > 0 ? texts : message).map((text) =>
    text
      .replaceAll(/\[\d+\]/g, "[]")
      .replaceAll(/(Invalid value|Duplicate value|Not found): ("(?:[^"\\]|\\.)*"|\S+?)(?=:|,|$)/g, "$1")
      .slice(0, 200),
  );
}

function shortened(value: unknown, most: number): string {
  const text =
    JSON.stringify(value, (_, member) => (typeof member === "bigint" ? `${member}n` : (member as unknown))) ??
    "(removed)";
  return text.length > most ? `${text.slice(0, most)}…` : text;
}
