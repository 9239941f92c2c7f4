/** The least that an extension can be. */
export default function (): void {}
