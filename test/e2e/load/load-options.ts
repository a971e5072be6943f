// SPDX-License-Identifier: Apache-2.0
// As large as the specification asks for; larger by hand: npm run e2e -- load/ --xrs=2000 --upgrades=50

function numberFrom(name: string, preset: number): number {
  const value = Number(process.env[name] ?? preset);
  if (Number.isSafeInteger(value) && value > 0) return value;
  throw new Error(`--${name.toLowerCase().replace("e2e_", "")}: expected a number, not ${process.env[name]}`);
}

/** How many composite resources are reconciled all the time. */
export const composites: number = numberFrom("E2E_XRS", 200);
/** How many times their function is upgraded meanwhile. */
export const upgrades: number = numberFrom("E2E_UPGRADES", 10);
