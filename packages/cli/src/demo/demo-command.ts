// SPDX-License-Identifier: Apache-2.0
import { existsSync } from "node:fs";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { fileURLToPath, pathToFileURL } from "node:url";
import {
  type CrossplaneLine,
  type RequirementFetchers,
  type TlsSource,
  tlsFromDirectory,
} from "@purlin/function-runner";
import { type FunctionHandler, nopLogger, type RunningFunction, start } from "@purlin/function-sdk";
import { callFunction, readRequest } from "../function-call/call-command.ts";
import { parseTarget, type Target } from "../function-call/probe-target.ts";
import { fetchersFromFiles } from "../function-call/requirement-files.ts";
import { writeDevelopmentCertificates } from "../function-certs/certs-command.ts";
import type { Io } from "../io.ts";
import type { CommandInput } from "../options/command-spec.ts";
import { createStyle, type Style } from "../terminal/style.ts";
import { UserError } from "../user-error.ts";
import { renderOutcome } from "./render-scenario.ts";

/** One call of the demo. */
interface Scenario {
  readonly title: string;
  readonly story: string;
  /** A file in the example's folder of requests. */
  readonly request: string;
  readonly asCrossplane?: CrossplaneLine;
}

/** The steps of the demo: one claim from its first mistake to the end, and the same on an older control plane. */
const scenarios: readonly Scenario[] = [
  {
    title: "Image not found",
    story: "The claim shop/web asks for the image team/app:v9. The registry has no such image.",
    request: "image-not-found.yaml",
  },
  {
    title: "Progressing",
    story: "Its user corrects the image to team/app:v1. The Deployment exists, but is not available yet.",
    request: "progressing.yaml",
  },
  {
    title: "Success",
    story: "The Deployment has become available.",
    request: "success.yaml",
  },
  {
    title: "The same on an older control plane",
    story: "Crossplane v1.17 has no schemas to offer and cannot say so. The function notices and falls back.",
    request: "success.yaml",
    asCrossplane: "v1.17",
  },
];

/** What to do after the demo, from the repository's root. */
export const nextSteps: readonly { readonly command: string; readonly what: string }[] = [
  {
    command: "npx purlin function run examples/image-ready/src/function.ts --insecure",
    what: "Serve the function. Edit it and save: it reloads.",
  },
  {
    command:
      "npx purlin function call --target localhost:9443 --insecure --request examples/image-ready/requests/success.yaml --required-resources examples/image-ready/resources --crds examples/image-ready/crds",
    what: "While it serves, call it from another terminal and read the whole response.",
  },
  {
    command: "npx purlin function init my-function",
    what: "Start a function of your own.",
  },
];

const example = fileURLToPath(new URL("../../../../examples/image-ready", import.meta.url));
const callTimeoutMs = 30_000;

/** `purlin demo`: everything in it is real, only small. */
export async function run(_: CommandInput, io: Io): Promise<undefined> {
  if (!existsSync(example)) {
    throw new UserError("the demo runs an example of the repository: run it there, with npx purlin demo");
  }
  const style = createStyle(io.stdout, io.env);
  io.stdout.write(introduction(style));
  const certificates = await mkdtemp(join(tmpdir(), "purlin-demo-"));
  try {
    await writeDevelopmentCertificates(certificates);
    await using running = await serveExample(certificates);
    io.stdout.write(`${style.good("✓")} made certificates for this machine, for both ends of mutual TLS\n`);
    io.stdout.write(`${style.good("✓")} serving ${display(io, "src/function.ts")} on localhost:${running.port}\n\n`);
    const stage = { target: parseTarget(`localhost:${running.port}`), security: tlsFromDirectory(certificates) };
    await play(stage, io, style);
  } finally {
    await rm(certificates, { recursive: true, force: true });
  }
  io.stdout.write(farewell(style));
}

async function serveExample(certificates: string): Promise<RunningFunction> {
  const module: unknown = await import(pathToFileURL(join(example, "src/function.ts")).href);
  const { fn } = module as { readonly fn: FunctionHandler };
  return start(fn, { address: "localhost:0", tlsCertsDir: certificates, metricsAddress: "", log: nopLogger });
}

interface Stage {
  readonly target: Target;
  readonly security: TlsSource;
}

async function play(stage: Stage, io: Io, style: Style): Promise<void> {
  const paths = { requiredResources: join(example, "resources"), crds: join(example, "crds"), openapi: undefined };
  const fetchers = await fetchersFromFiles(paths, io);
  for (const [index, scenario] of scenarios.entries()) {
    io.signal.throwIfAborted();
    const file = display(io, `requests/${scenario.request}`);
    const as = scenario.asCrossplane === undefined ? "" : `, as Crossplane ${scenario.asCrossplane}`;
    io.stdout.write(`${style.strong(`${index + 1}. ${scenario.title}`)} ${style.faint(`(${file}${as})`)}\n`);
    io.stdout.write(`   ${scenario.story}\n\n`);
    io.stdout.write(`${await playOne(stage, scenario, { io, fetchers, style })}\n`);
  }
}

async function playOne(
  { target, security }: Stage,
  { request: file, asCrossplane }: Scenario,
  { io, fetchers, style }: { readonly io: Io; readonly fetchers: RequirementFetchers; readonly style: Style },
): Promise<string> {
  const request = await readRequest({ request: join(example, "requests", file), xr: undefined }, io);
  const deadline = Date.now() + callTimeoutMs;
  const outcome = await callFunction({
    target,
    security,
    request,
    fetchers,
    asCrossplane,
    deadline,
    signal: io.signal,
  });
  return renderOutcome(outcome, style);
}

function introduction(style: Style): string {
  return `${style.strong("A composition function, a claim and its user")}

A platform team offers apps: a claim names a database and an image, and a composition function makes a Deployment of it.
The function looks up both, checks the Deployment against the API server's schema and reports to the claim's user how far it
is. What follows is real: a gRPC server on this machine, mutual TLS, and the runner that a control plane uses.

`;
}

function farewell(style: Style): string {
  const steps = nextSteps.map(({ command, what }) => `  ${what}\n    ${style.code(command)}\n`);
  return `${style.strong("Next, from this folder:")}\n\n${steps.join("\n")}\n`;
}

/** A file of the example as the user would type it. */
function display(io: Io, file: string): string {
  return relative(io.cwd, join(example, file));
}
