// SPDX-License-Identifier: Apache-2.0
import { spawnSync } from "node:child_process";
import { mkdirSync } from "node:fs";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { type JsonValue, parseJson, printJson } from "../../../packages/kube-objects/src/index.ts";

/** A question to the reference: a value with its schema, or a CustomResourceDefinition. */
export type Question = { readonly schema: JsonValue; readonly value: JsonValue } | { readonly crd: JsonValue };

/** What the reference answers. */
export interface Answer {
  readonly errors: readonly { readonly type: string; readonly field: string; readonly body: string }[] | null;
  readonly unknown: readonly string[] | null;
  readonly documents?: Readonly<Record<string, Readonly<Record<string, JsonValue>>>>;
  readonly failed?: string;
}

let program: string | undefined;

/** Asks the reference server's own libraries. The first call compiles them, which takes some minutes. */
export function askReference(questions: readonly Question[]): Answer[] {
  program ??= build();
  const input = printJson(questions as unknown as JsonValue);
  const { status, stdout, stderr } = spawnSync(program, { input, encoding: "utf8", maxBuffer: 1 << 30 });
  if (status !== 0) throw new Error(`the reference failed: ${stderr}`);
  return parseJson(stdout) as unknown as Answer[];
}

function build(): string {
  const cache = fileURLToPath(new URL("../../../.cache/schema-reference/", import.meta.url));
  mkdirSync(cache, { recursive: true });
  const output = join(cache, "reference");
  const cwd = fileURLToPath(new URL(".", import.meta.url));
  const { status, error } = spawnSync("go", ["build", "-o", output, "."], {
    cwd,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (error) throw new Error(`cannot run go: ${error.message}. Install the Go toolchain first`, { cause: error });
  if (status !== 0) throw new Error("go build failed");
  return output;
}
