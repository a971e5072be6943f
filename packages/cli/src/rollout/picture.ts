// SPDX-License-Identifier: Apache-2.0
import { isJsonObject, type JsonObject } from "@purlin/kube-objects/json";
import {
  type KubeObject,
  memberAt,
  numberAt,
  objectAt,
  objectsAt,
  stringAt,
  textAt,
} from "@purlin/kube-objects/object";
import { harmlessLine } from "../harmless.ts";

const barWidth = 30;

/** A rollout as lines: what moves, the steps, the gates with their numbers, and what comes next. */
export function pictureOf(rollout: KubeObject, purlin: string): readonly string[] {
  const status = objectAt(rollout, ["status"]);
  return [
    headline(rollout, status),
    `  ${revisionsText(status)}`,
    "",
    ...waveLines(status),
    "",
    "STEPS",
    ...stepLines(rollout, status),
    ...gateLines(status),
    ...nextLines(rollout, status, purlin),
  ].map(indented);
}

/** A harmless line that keeps its indentation. */
function indented(line: string): string {
  const indent = line.length - line.trimStart().length;
  return " ".repeat(indent) + harmlessLine(line);
}

function headline(rollout: KubeObject, status: JsonObject): string {
  const target = targetOf(rollout);
  const phase = textAt(status, ["phase"]) ?? "Pending";
  const { reason, message } = conditionOf(status, "Progressing");
  const why = reason === "" || phase === "Succeeded" ? "" : ` (${reason}: ${message})`;
  return `${rollout.metadata.name ?? ""}  ${target}  ${phase}${why}`;
}

/** What is rolled out. */
function targetOf(rollout: KubeObject): string {
  const composition = textAt(rollout, ["spec", "compositionRef", "name"]);
  if (composition !== undefined) return `Composition ${composition}`;
  const one = textAt(rollout, ["spec", "functionRef", "name"]);
  const names =
    one === undefined ? objectsAt(rollout, ["spec", "functionRefs"]).map((ref) => stringAt(ref, ["name"])) : [one];
  return `Function ${names.join(", ")}`;
}

function conditionOf(status: JsonObject, type: string): { readonly reason: string; readonly message: string } {
  const found = objectsAt(status, ["conditions"]).find((one) => one["type"] === type) ?? {};
  return { reason: stringAt(found, ["reason"]), message: stringAt(found, ["message"]) };
}

function revisionsText(status: JsonObject): string {
  const stable = textAt(status, ["stableRevision"]) ?? "?";
  return `${stable} → ${textAt(status, ["candidateRevision"]) ?? "(waiting for a new revision)"}`;
}

function waveLines(status: JsonObject): readonly string[] {
  const at = (field: string): number => numberAt(status, ["composites", field]);
  const [total, moved, candidate] = [at("total"), at("moved"), at("candidate")];
  const share = total === 0 ? 0 : moved / total;
  const filled = Math.round(share * barWidth);
  const bar = `${"█".repeat(filled)}${"░".repeat(barWidth - filled)}`;
  const unhealthy = at("unhealthy") > 0 ? `, ${at("unhealthy")} of them not synced` : "";
  return [
    `  ${bar} ${(share * 100).toFixed(1)} %`,
    `  ${moved} of ${total} composite resources moved, ${candidate} belong on the candidate${unhealthy}`,
  ];
}

function stepLines(rollout: KubeObject, status: JsonObject): readonly string[] {
  const current = numberAt(status, ["currentStep"]);
  const phase = textAt(status, ["phase"]) ?? "Pending";
  return objectsAt(rollout, ["spec", "steps"]).map((step, index) => {
    const isDone = phase === "Succeeded" || (phase !== "Pending" && index < current);
    const mark = isDone ? "✔" : index === current && phase !== "Pending" ? (phase === "Progressing" ? "▶" : "■") : " ";
    return `  ${mark} ${stepName(step, index)}: ${stepText(step)}`;
  });
}

/** The name of a step, as approvals use it. */
export function stepName(step: JsonObject, index: number): string {
  return textAt(step, ["name"]) ?? `step-${index + 1}`;
}

function stepText(step: JsonObject): string {
  const cohort = memberAt(step, ["cohort", "matchLabels"]);
  const labels = isJsonObject(cohort) ? Object.entries(cohort).map(([key, value]) => `${key}=${String(value)}`) : [];
  const parts = [
    ...(step["shadow"] === true ? ["shadow"] : []),
    ...(labels.length > 0 ? [`cohort ${labels.join(",")}`] : []),
    ...(typeof step["percent"] === "number" ? [`${step["percent"]} %`] : []),
    ...(textAt(step, ["minDuration"]) === undefined ? [] : [`at least ${stringAt(step, ["minDuration"])}`]),
    ...(step["approval"] === "Manual" || step["pause"] === true ? ["approval"] : []),
    ...(textAt(step, ["window", "schedule"]) === undefined ? [] : [`window ${stringAt(step, ["window", "schedule"])}`]),
  ];
  return parts.join(", ");
}

const gateMarks: Readonly<Record<string, string>> = { Passed: "✔", Failed: "✖" };

function gateLines(status: JsonObject): readonly string[] {
  const gates = objectsAt(status, ["gates"]);
  if (gates.length === 0) return [];
  const lines = gates.map((gate) => {
    const result = stringAt(gate, ["result"]);
    return `  ${gateMarks[result] ?? "?"} ${stringAt(gate, ["name"])}: ${stringAt(gate, ["message"])}`;
  });
  return ["GATES", ...lines];
}

function nextLines(rollout: KubeObject, status: JsonObject, purlin: string): readonly string[] {
  const name = rollout.metadata.name ?? "";
  const approval = textAt(status, ["awaitingApproval"]);
  if (approval !== undefined) return ["", `Waits for an approval: ${purlin} rollout approve ${name}`];
  if (textAt(status, ["pauseToken"]) !== undefined) {
    return ["", `A gate failed: ${purlin} rollout resume ${name}, or ${purlin} rollout abort ${name}`];
  }
  const superseded = conditionOf(status, "Superseded");
  return superseded.reason === "NewerRevision" ? ["", `Note: ${superseded.message}`] : [];
}

/** One line for each rollout. */
export function listLines(rollouts: readonly KubeObject[]): readonly string[] {
  const rows = rollouts.map((rollout) => {
    const status = objectAt(rollout, ["status"]);
    const steps = objectsAt(rollout, ["spec", "steps"]).length;
    const at = (field: string): number => numberAt(status, ["composites", field]);
    const step = `${Math.min(numberAt(status, ["currentStep"]) + 1, steps)}/${steps}`;
    return [
      rollout.metadata.name ?? "",
      targetOf(rollout),
      textAt(status, ["phase"]) ?? "Pending",
      step,
      `${at("moved")}/${at("total")}`,
    ];
  });
  const table = [["NAME", "TARGET", "PHASE", "STEP", "MOVED"], ...rows];
  const widths = table[0]?.map((_, column) => Math.max(...table.map((row) => row[column]?.length ?? 0))) ?? [];
  return table.map((row) =>
    harmlessLine(
      row
        .map((cell, column) => cell.padEnd(widths[column] ?? 0))
        .join("  ")
        .trimEnd(),
    ),
  );
}

/** The decisions of a rollout, the oldest first. */
export function historyLines(rollout: KubeObject): readonly string[] {
  return objectsAt(rollout, ["status", "history"]).map((entry) => {
    const numbers = `${numberAt(entry, ["composites", "candidate"])}/${numberAt(entry, ["composites", "total"])}`;
    const step = `step ${numberAt(entry, ["step"]) + 1}`;
    const when = stringAt(entry, ["time"]);
    return harmlessLine(
      `${when}  ${step}  ${stringAt(entry, ["decision"])}  ${numbers}  ${stringAt(entry, ["message"])}`,
    );
  });
}

const classOrder = ["delete", "replace", "fatal", "error", "change", "slower", "cosmetic", "none"] as const;

/** The shadow report, grouped by class, the worst first. */
export function previewLines(rollout: KubeObject): readonly string[] | undefined {
  const shadow = memberAt(rollout, ["status", "shadow"]);
  if (!isJsonObject(shadow)) return undefined;
  const composites = objectsAt(shadow, ["composites"]);
  const lines = [`${numberAt(shadow, ["compared"])} composite resources compared; nothing was applied.`];
  for (const kind of classOrder) {
    const count = numberAt(shadow, ["classes", kind]);
    if (count === 0) continue;
    lines.push("", `${kind}: ${count}`);
    const shown = composites.filter((one) => one["class"] === kind);
    for (const one of shown) lines.push(...compositeLines(one));
    if (kind !== "none" && shown.length > 0 && shown.length < count) lines.push(`  … and ${count - shown.length} more`);
  }
  return lines.map(indented);
}

function compositeLines(one: JsonObject): readonly string[] {
  const namespace = textAt(one, ["namespace"]);
  const name = `${namespace === undefined ? "" : `${namespace}/`}${stringAt(one, ["name"])}`;
  const message = textAt(one, ["message"]);
  const resources = objectsAt(one, ["resources"]).map(
    (resource) =>
      `    ${stringAt(resource, ["class"])} ${stringAt(resource, ["kind"])} "${stringAt(resource, ["resource"])}"`,
  );
  return [`  ${stringAt(one, ["kind"])} ${name}${message === undefined ? "" : `: ${message}`}`, ...resources];
}
