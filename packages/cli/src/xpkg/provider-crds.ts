// SPDX-License-Identifier: Apache-2.0
// The CRDs of a Provider on the provider kit: its program prints them.

import { execFile } from "node:child_process";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { promisify } from "node:util";
import { isJsonObject } from "@purlin/kube-objects/json";
import { textAt } from "@purlin/kube-objects/object";
import type { PackageContents } from "@purlin/oci";
import type { Io } from "../io.ts";
import { textOf, UserError } from "../user-error.ts";
import type { BundledProvider } from "./package-runtime.ts";

const timeoutMs = 60_000;
const maxBytes = 64 * 1024 ** 2;
const crdKind = "CustomResourceDefinition";
const capability = "safe-start";

/** The CRDs of a Provider that its package folder does not contain, as a file of the package. Undefined without any. */
export async function generatedCrds(
  { file, bundle }: BundledProvider,
  { meta, objects }: PackageContents,
  io: Io,
): Promise<{ readonly name: string; readonly text: string } | undefined> {
  if (!isSafeStart(meta.capabilities)) {
    const reason = "without it the provider may not read CRDs, and its controllers do not start";
    io.stderr.write(`warning: crossplane.yaml: add "${capability}" to spec.capabilities: ${reason}\n`);
  }
  const known = new Set(objects.filter(({ kind }) => kind === crdKind).map((one) => textAt(one, ["metadata", "name"])));
  const crds = (await printedCrds(file, bundle.code)).filter(
    (crd) => !known.has(textAt(crd as object, ["metadata", "name"])),
  );
  if (crds.length === 0) return undefined;
  return { name: file, text: crds.map((crd) => JSON.stringify(crd)).join("\n---\n") };
}

function isSafeStart(capabilities: readonly string[]): boolean {
  return capabilities.some((one) => one.toLowerCase().replaceAll(/[^a-z0-9]/g, "") === "safestart");
}

async function printedCrds(file: string, code: Uint8Array): Promise<readonly unknown[]> {
  const directory = await mkdtemp(join(tmpdir(), "purlin-provider-"));
  try {
    const program = join(directory, "main.mjs");
    await writeFile(program, code);
    const options = { timeout: timeoutMs, maxBuffer: maxBytes, env: {}, cwd: directory };
    const { stdout } = await promisify(execFile)(process.execPath, [program, "--print-crds"], options);
    const crds: unknown = JSON.parse(stdout);
    if (Array.isArray(crds) && crds.every((one) => isJsonObject(one) && one["kind"] === crdKind)) return crds;
    throw new Error("it does not print a list of CRDs");
  } catch (error) {
    const advice = "call runProvider of @purlin/provider-sdk in the program, or package another program with --root";
    throw new UserError(`${file} --print-crds failed: ${textOf(error)}: ${advice}`, { cause: error });
  } finally {
    await rm(directory, { recursive: true, force: true });
  }
}
