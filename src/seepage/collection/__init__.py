"""Running a plan: records to reports, reports to frequencies, joint tables and leakages."""
