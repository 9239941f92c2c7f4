/** Tests run in a zone where it is noon now, so that none meets midnight by chance. */
const offset = 12 - new Date().getUTCHours();
process.env["TZ"] ??= `Etc/GMT${offset < 0 ? "+" : "-"}${Math.abs(offset)}`;
