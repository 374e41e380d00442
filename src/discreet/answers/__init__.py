"""What a release is once it is public: values, intervals, exports and display."""
