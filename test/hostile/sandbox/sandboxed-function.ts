// SPDX-License-Identifier: Apache-2.0
// A function in the sandbox of this machine, as a control plane runs it, which answers with what it could find out or do.
import { chmodSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";
import { createFunctionProcesses, mountPoints, type SandboxSupport } from "@purlin/function-process";
import { create, RunFunctionRequest } from "@purlin/function-protocol";
import { createDiallingRunner } from "@purlin/function-runner";
import { bundleCommand, bundleFunction, bundlePath } from "@purlin/oci";

/** A hostile function. */
export interface HostileFunction {
  /** The body of a function of the module's imports that returns something that can be written as JSON. */
  readonly body: string;
  /** More files of the image, by path: executable ones. */
  readonly programs?: Readonly<Record<string, Buffer>> | undefined;
}

/** What a hostile function returned, and the folders of this machine that it must not know. */
export interface Loot {
  readonly found: Record<string, unknown>;
  readonly places: readonly string[];
}

const sourceOf = (body: string): string => `
import * as fs from "node:fs";
import * as net from "node:net";
import * as os from "node:os";
import { spawnSync } from "node:child_process";
import { response } from "@purlin/function-sdk";
const attempt = (what) => { try { return what(); } catch (error) { return error.code ?? String(error); } };
const explore = async () => { ${body} };
export default async (req) => {
  const rsp = response.to(req);
  response.normal(rsp, JSON.stringify(await explore()));
  return rsp;
};
`;

/** Runs a hostile function once, and returns what it got. */
export async function runHostile(hostile: HostileFunction, support: SandboxSupport): Promise<Loot> {
  using image = await makeImage(hostile);
  return await runImage(image.root, support);
}

/** Runs the function of an image once, and returns what it got. */
export async function runImage(root: string, support: SandboxSupport): Promise<Loot> {
  await using stack = new AsyncDisposableStack();
  const directory = mkdtempSync(join(tmpdir(), "purlin-hostile-"));
  stack.defer(() => rmSync(directory, { recursive: true, force: true }));
  const env = { PATH: "/usr/bin:/bin", SECRET_TOKEN: "hunter2" };
  const processes = stack.use(createFunctionProcesses({ directory: join(directory, "state"), env }));
  const name = "hostile";
  const running = processes.run({
    name,
    cwd: "/",
    program: {
      kind: "image",
      root,
      process: { entrypoint: bundleCommand, cmd: [], env: [], workingDir: "/", user: "" },
      env: { FUNCTION_NAME: name },
      needsNode: true,
      sandbox: support.isSupported ? support : undefined,
      network: support.isSupported ? undefined : support.network,
      socket: join(directory, "s"),
    },
  });
  const { endpoint } = await running.served(AbortSignal.timeout(120_000));
  const runner = stack.adopt(createDiallingRunner({ security: processes.security }), (one) => one.close());
  const target = { functionName: name, revisionName: name, packageRef: "", endpoint, revision: 1 };
  const { results } = await runner.run(target, create(RunFunctionRequest, {}), { deadline: Date.now() + 120_000 });
  return { found: JSON.parse(results[0]?.message ?? "{}") as Record<string, unknown>, places: [directory, root] };
}

/** The unpacked image of a hostile function, which every user of this machine can read. */
export async function makeImage({
  body,
  programs = {},
}: HostileFunction): Promise<Disposable & { readonly root: string }> {
  const directory = mkdtempSync(join(tmpdir(), "purlin-image-"));
  chmodSync(directory, 0o755);
  const root = await writeImage(directory, body, programs);
  return { root, [Symbol.dispose]: () => rmSync(directory, { recursive: true, force: true }) };
}

async function writeImage(
  directory: string,
  body: string,
  programs: Readonly<Record<string, Buffer>>,
): Promise<string> {
  const sdk = dirname(dirname(fileURLToPath(import.meta.resolve("@purlin/function-sdk"))));
  mkdirSync(join(directory, "node_modules/@purlin"), { recursive: true });
  symlinkSync(sdk, join(directory, "node_modules/@purlin/function-sdk"));
  writeFileSync(join(directory, "package.json"), '{"type":"module"}');
  writeFileSync(join(directory, "fn.ts"), sourceOf(body));
  const root = join(directory, "root");
  for (const mount of [...mountPoints, "function"]) mkdirSync(join(root, mount), { recursive: true });
  writeFileSync(join(root, bundlePath), (await bundleFunction(join(directory, "fn.ts"))).code);
  for (const [path, bytes] of Object.entries(programs)) {
    writeFileSync(join(root, path), bytes);
    chmodSync(join(root, path), 0o755);
  }
  return root;
}
