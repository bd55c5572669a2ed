// Conventional measures of correlation, beside the leakage.

/** Mutual information in nats, over joint entropy, and Pearson's coefficient of the codes. */
export function correlationOf(table) {
  const rows = table.map((row) => row.reduce((a, b) => a + b, 0));
  const columns = table[0].map((_, j) => table.reduce((total, row) => total + row[j], 0));
  const records = rows.reduce((a, b) => a + b, 0);
  let information = 0;
  let entropy = 0;
  table.forEach((row, i) =>
    row.forEach((count, j) => {
      if (!count) return;
      const share = count / records;
      information += share * Math.log((count * records) / (rows[i] * columns[j]));
      entropy -= share * Math.log(share);
    }),
  );
  const mi = Math.max(0, information);
  return { mi, nmi: entropy > 0 ? Math.min(1, mi / entropy) : 0, pcc: pearson(table, rows, columns, records) };
}

function pearson(table, rows, columns, records) {
  const mean = (counts) => counts.reduce((total, count, code) => total + (code * count) / records, 0);
  const left = mean(rows);
  const right = mean(columns);
  const spread = (counts, centre) =>
    counts.reduce((total, count, code) => total + (count / records) * (code - centre) ** 2, 0);
  let covariance = 0;
  table.forEach((row, i) =>
    row.forEach((count, j) => {
      covariance += (count / records) * (i - left) * (j - right);
    }),
  );
  const scale = Math.sqrt(spread(rows, left) * spread(columns, right));
  return scale > 0 ? Math.min(1, Math.max(-1, covariance / scale)) : 0;
}
