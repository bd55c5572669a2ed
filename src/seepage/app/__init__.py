"""The app that `seepage open` serves, and the receiver of reports."""
